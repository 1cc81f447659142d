#!/bin/sh
# SPDX-License-Identifier: MIT
# Hours of rotation in seconds: the receiver is killed again and again while it seals, compresses and removes; all sealed
# files of a stream together are what was sent, and no half of one is left. The same with FILE_UNIFY and names by the time.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft=${B:-build}/bin/k2hft
streams='a b/c b/d'
senders=
all_end() { # the senders with the test, too
	for one in $senders; do
		kill "$one" 2>/dev/null
		wait "$one"
	done
}
trap 'code=$?; all_end; receiver_cleanup; exit $code' EXIT

# The content of a file, sealed ones first, in the order of their names; each of them once.
whole() {
	for part in "$1".20*; do
		[ ! -e "$part.zst" ] || fail "$part is there twice"
		case $part in
		*.zst) zstd -qdc "$part" ;;
		*) cat "$part" ;;
		esac || fail "$part is damaged"
	done
	[ ! -e "$1" ] || cat "$1"
}
# A part of it now and then, to the last.
slowly() {
	for slice in $(seq 0 39); do
		dd if="$1" bs=140K skip="$slice" count=1 status=none
		sleep 0.05
	done
}
# Sends a file for each stream, and kills the receiver N times meanwhile.
send_killed() {
	senders=
	for stream in $streams; do
		slowly "$dir/in/$stream" | "$k2hft" push -q -r "127.0.0.1:$port" -t "$stream" >>"$dir/pushed" 2>&1 &
		senders="$senders $!"
	done
	for i in $(seq "$1"); do
		sleep "0.$((i % 4 + 1))"
		receiver_stop KILL
		receiver_start
	done
	for one in $senders; do
		wait "$one" || fail "push: $(cat "$dir/pushed")"
	done
	senders=
	receiver_stop TERM
}
mkdir -p "$dir/in/b"
for stream in $streams; do
	awk -v stream="$stream" 'BEGIN { srand(7); for (i = 0; i < 60000; i++)
		printf "%s %d %0*d\n", stream, i, 20 + 100 * rand(), i }' >"$dir/in/$stream"
done

receiver_config 'ROTATE_SIZE = 64K' 'ROTATE_COMPRESS = zstd'
receiver_start
send_killed 9
rotated=$(find "$dir/out" -name '*.20*' | wc -l)
[ "$rotated" -gt 60 ] || fail "only $rotated files were sealed"
for stream in $streams; do
	whole "$dir/out/$stream" | cmp - "$dir/in/$stream" || fail "$stream: $(find "$dir/out" -name "${stream#b/}*")"
done
receiver_start
compressed() { [ -z "$(find "$dir/out" -name '*.20*' ! -name '*.zst')" ]; }
wait_until compressed
receiver_stop TERM
for stream in $streams; do
	whole "$dir/out/$stream" | cmp - "$dir/in/$stream" || fail "$stream, all of it compressed"
done

rm -rf "$dir/out"
receiver_config 'ROTATE_SIZE = 256K' 'ROTATE_TIME = 2s' 'ROTATE_COMPRESS = gzip' 'FILE_UNIFY = %M/all.%S'
receiver_start
send_killed 4
find "$dir/out" -name 'all.*' | while read -r part; do
	case $part in
	*.gz) gzip -dc "$part" ;;
	*) cat "$part" ;;
	esac || echo damaged
done | sort >"$dir/got"
cat "$dir/in/a" "$dir/in/b/c" "$dir/in/b/d" | sort | cmp - "$dir/got" || fail "FILE_UNIFY"
