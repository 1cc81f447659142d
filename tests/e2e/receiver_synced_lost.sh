#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that goes away and comes back without the machine can have more of the ledger than of a file: what a sender of
# level synced was not acknowledged comes again, and nothing else does.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/slow_sync.inc
. tests/tools/slow_sync.inc
receiver_config ""
says() {
	printf '%s\n' "$@" | wire >"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
}

# lost RING FILE BYTES DEED...: the second chunk of RING goes to FILE, which has BYTES then and is not synced. The receiver
# dies, and the disk forgets the chunk as DEED does.
lost() {
	ring=$1 file=$2 bytes=$3
	shift 3
	slow_sync "$file"
	receiver_start
	says "hello $ring 1 0 3" welcome "stream 1 text $ring" 'chunk 1 0 one\n' flush ack close
	: >"$dir/hold"
	says "hello $ring 2 0 3" welcome "stream 1 text $file" 'chunk 1 0 two\n' flush close
	wait_until arrived "$file" "$bytes"
	wait_until logged ' disconnected at 80: '
	receiver_stop KILL
	rm "$dir/hold"
	"$@"
	receiver_start
	logged 'files are gone, or shorter than they were' || fail "no word of $file"
	says "hello $ring 3 0 3" welcome "stream 1 text $file" 'chunk 1 0 two\n' flush ack bye
	grep -q '^welcome position 40 known level 3' "$dir/said" || fail "$(cat "$dir/said")"
	receiver_stop TERM
}

receiver_start
says 'hello written 1 0' welcome 'stream 1 text other' 'chunk 1 0 four\n' flush ack close
receiver_stop TERM
lost old old 8 truncate -s 4 "$dir/out/old"
printf 'one\ntwo\n' | cmp - "$dir/out/old" || fail "a file that was shorter"
# A file that was new then can have lost its name.
lost ring new 4 rm "$dir/out/new"
printf 'one\n' | cmp - "$dir/out/ring" || fail "another file"
printf 'two\n' | cmp - "$dir/out/new" || fail "a file that was gone"
receiver_start
says 'hello written 2 0' welcome bye
grep -q '^welcome position 40 known' "$dir/said" || fail "who does not wait for the disk: $(cat "$dir/said")"
printf 'four\n' | cmp - "$dir/out/other" || fail "the file of who does not"
receiver_stop TERM
