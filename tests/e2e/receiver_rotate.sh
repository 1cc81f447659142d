#!/bin/sh
# SPDX-License-Identifier: MIT
# The receiver rotates: files are sealed by size and time between records, also of records that come in pieces, compressed,
# given to POSTROTATE and removed, and a reload takes other limits; all sealed files together are what was sent.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control
cat >"$dir/post" <<'END'
#!/bin/sh
echo "$# $NAME $1 $2" >>"$0.seen"
END
chmod +x "$dir/post"
configure() { receiver_config "$@" '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"; }

# The content of a file, sealed ones first, in the order of their names.
whole() {
	for part in "$1".2*; do
		case $part in
		*.gz) gzip -dc "$part" ;;
		*.zst) zstd -qdc "$part" ;;
		*) cat "$part" ;;
		esac
	done
	[ ! -e "$1" ] || cat "$1"
}
sealed() { [ "$(find "$dir/out" -name "$1.2*" | wc -l)" = "$2" ]; }
say() {
	text=$1
	shift
	printf '%s\n' "chunk 1 $text" flush ack >&3
	acks=$((acks + 1))
	wait_until said_acks
}
said_acks() { [ "$(grep -c '^ack' "$dir/said")" = "$acks" ]; }
sender_open() {
	rm -f "$dir/script"
	mkfifo "$dir/script"
	"${B:-build}/tests/tools/wire_send" <"$dir/script" >"$dir/said" &
	sender=$!
	exec 3>"$dir/script"
	acks=0
	printf '%s\n' "connect $port" "hello $1" welcome "stream 1 text $2" >&3
}
sender_close() {
	exec 3>&-
	wait $sender || fail "sender: $(cat "$dir/said")"
}

# By size: never within a record, also one that comes in pieces.
configure 'ROTATE_SIZE = 10' 'ROTATE_COMPRESS = gzip' "POSTROTATE = NAME=value $dir/post \"a b\""
receiver_start
sender_open 'ring 1 0' a/f
say '0 one\n'
say '1 two begins'
say '3 goes on'
sealed f 0 || fail "sealed within a record"
say '2 and ends\n'
say '0 three\n'
wait_until sealed f 1
say '0 four\n'
say '0 5\n'
printf 'one\ntwo beginsgoes onand ends\nthree\nfour\n5\n' >"$dir/wanted"
posted() { [ "$(grep -c value "$dir/post.seen" 2>/dev/null)" = "$1" ]; }
wait_until posted 2
whole "$dir/out/a/f" | cmp - "$dir/wanted" || fail "f: $(ls "$dir/out/a")"
is rotated_files 2 || fail "rotated_files: $(counter rotated_files)"
is rotation_errors 0 || fail "errors"
set -- "$dir"/out/a/f.2*
[ "$(gzip -dc "$1" | tail -n 1)" = 'two beginsgoes onand ends' ] || fail "the first: $(gzip -dc "$1")"
[ "$(cat "$dir/post.seen")" = "$(printf '2 value a b %s\n2 value a b %s' "$1" "$2")" ] ||
	fail "POSTROTATE: $(cat "$dir/post.seen")"

# A stream with the name of a sealed file has it for itself. A reload takes the keys, and ROTATE_KEEP holds at once.
sender_close
own=${1%.gz}
sends 'ring2 1 0' "a/${own##*/}" mine
configure 'ROTATE_SIZE = 6' 'ROTATE_COMPRESS = zstd' 'ROTATE_KEEP = 2, 1G'
kill -HUP "$pid"
wait_until logged 'SIGHUP'
sender_open 'ring 1 0' a/f
for i in 1 2 3 4; do
	say "0 line$i\\n"
done
sender_close
kept() { [ ! -e "$dir/out/a/f" ] && [ "$(find "$dir/out/a" -name 'f.2*.zst' | wc -l) $(find "$dir/out/a" -name 'f.2*' | wc -l)" = '2 4' ]; }
wait_until kept
printf 'line3\nline4\n' >"$dir/wanted"
zstd -qdc "$dir"/out/a/f.2*.zst | cmp - "$dir/wanted" || fail "those that are kept"
[ "$(cat "$own")" = mine ] || fail "the stream's own file: $(ls -l "$dir/out/a")"

# After a restart the list is known.
receiver_stop KILL
configure 'ROTATE_SIZE = 6' 'ROTATE_KEEP = 1'
receiver_start
left() { [ "$(find "$dir/out/a" -name 'f.2*.zst' | wc -l)" = 1 ]; }
wait_until left

# By time: an idle file is sealed when its time is over.
receiver_stop TERM
configure 'ROTATE_TIME = 1s'
receiver_start
sends 'ring3 1 0' idle one
wait_until sealed idle 1
[ ! -e "$dir/out/idle" ] || fail "an empty file is there"
receiver_stop TERM

# Never together with PLUGIN, or without a reason to seal.
configure 'PLUGIN = /bin/cat' 'ROTATE_SIZE = 1M'
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/said" 2>&1 && fail "PLUGIN with ROTATE_SIZE"
grep -q 'ROTATE_SIZE can.t be used together with PLUGIN' "$dir/said" || fail "$(cat "$dir/said")"
configure 'TYPE = trans' 'ROTATE_SIZE = 1M'
sed -i '/^TYPE = file/d' "$dir/conf"
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/said" 2>&1 && fail "ROTATE_SIZE without files"
grep -q 'ROTATE_SIZE needs file in TYPE' "$dir/said" || fail "$(cat "$dir/said")"
configure 'ROTATE_KEEP = 3'
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/said" 2>&1 && fail "ROTATE_KEEP alone"
grep -q 'ROTATE_KEEP needs ROTATE_SIZE or ROTATE_TIME' "$dir/said" || fail "$(cat "$dir/said")"
configure 'ROTATE_TIME = weekly'
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/said" 2>&1 && fail "ROTATE_TIME = weekly"
grep -q 'use hourly, daily' "$dir/said" || fail "$(cat "$dir/said")"
