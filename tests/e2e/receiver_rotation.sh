#!/bin/sh
# SPDX-License-Identifier: MIT
# Output files can be renamed, removed and truncated at any time, with and without HUP; the next record makes the file
# again.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config 'FILE_UNIFY = log/all'
receiver_start
mkfifo "$dir/script"
"${B:-build}/tests/tools/wire_send" <"$dir/script" >"$dir/said" &
sender=$!
exec 3>"$dir/script"
acks=0
say() {
	say_text 0 "$1\\n"
}
say_text() {
	printf '%s\n' "chunk 1 $1 $2" flush ack >&3
	acks=$((acks + 1))
	wait_until said_acks
}
said_acks() { [ "$(grep -c '^ack' "$dir/said")" = "$acks" ]; }
file=$dir/out/log/all
printf '%s\n' "connect $port" 'hello ring 1 0' welcome 'stream 1 text x' >&3
say one
mv "$file" "$file.1"
say two
mv "$file" "$file.2"
kill -HUP "$pid"
wait_until logged 'SIGHUP'
say three
rm "$file"
say four
: >"$file"
say five
kill -HUP "$pid"
say six
[ "$(cat "$file.1")" = one ] || fail "first"
[ "$(cat "$file.2")" = two ] || fail "second"
printf 'five\nsix\n' | cmp - "$file" || fail "third"

# Emptied after the begin of a long record, which another's record would have ended, while it is open and while it is not.
reopened() { [ "$(grep -c 'may make new connections' "$dir/log")" = "$1" ]; }
wait_until reopened 2
say_text 1 begin
: >"$file"
say seven
say_text 1 begin
kill -HUP "$pid"
wait_until reopened 3
: >"$file"
say eight
[ "$(cat "$file")" = eight ] || fail "emptied: $(cat "$file")"

# Renamed, and made anew by whoever did that; and emptied, after which nothing is thought to be missing.
mv "$file" "$file.3"
: >"$file"
say nine
: >"$file"
say ten
say eleven
[ "$(cat "$file.3")" = eight ] || fail "renamed: $(cat "$file.3")"
receiver_stop KILL
receiver_start 3>&-
printf 'ten\neleven\n' | cmp - "$file" || fail "after a restart"
! logged 'output: ' || fail "its length is not known"
exec 3>&-
wait $sender || fail "sender"
receiver_stop TERM
