#!/bin/sh
# SPDX-License-Identifier: MIT
# Sender and receiver are each killed in the middle; with a ring file what arrives in the end is a beginning of what was
# written, none of it twice, and a sender that is not killed loses nothing.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
seq -f '%09.0f' 1 3000000 >"$dir/in"
: >"$dir/empty"
send() { "${B:-build}/tests/tools/library_send" "$port" "$1" "$2" "$3" "$dir/ring"; }

for way in records lines; do
	"${B:-build}/tests/tools/library_send" "$port" $way $way "$dir/in" "$dir/ring" &
	sender=$!
	wait_until arrived $way 2000000
	receiver_stop KILL
	receiver_start
	wait_until arrived $way 5000000
	kill -KILL $sender
	wait $sender
	send none lines "$dir/empty" || fail "what remained"
	bytes=$(stat -c %s "$dir/out/$way")
	[ $((bytes % 10)) = 0 ] || fail "$way: a line is cut"
	cmp -n "$bytes" "$dir/in" "$dir/out/$way" || fail "$way: it differs"
done

send whole records "$dir/in" &
sender=$!
wait_until arrived whole 2000000
receiver_stop KILL
receiver_start
wait_until arrived whole 9000000
receiver_stop KILL
receiver_start
wait $sender || fail "the sender that was not killed"
cmp "$dir/in" "$dir/out/whole" || fail "whole: it differs"
