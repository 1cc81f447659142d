#!/bin/sh
# SPDX-License-Identifier: MIT
# A push that is blocked, since its ring is full and no receiver is there, can be interrupted and killed; it says exactly how
# many records remain, and whether they are in a file or lost.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
receiver_stop TERM
seq 1 1000000 >"$dir/in"
push="${B:-build}/bin/k2hft push -q -r 127.0.0.1:$port --ring-size 1M --timeout 600 -t numbers"

# Python resets what a shell does to the background: SIGINT ignored.
start() {
	rm -f "$dir/pipe"
	mkfifo "$dir/pipe"
	# shellcheck disable=SC2086 # the words of $push
	python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
		$push "$@" "$dir/pipe" 2>"$dir/errors" &
	pushing=$!
	cat "$dir/in" >"$dir/pipe" 2>/dev/null &
	feeding=$!
	wait_until blocked
}

# What is read does not grow any more.
blocked() {
	before=$(sed -n 's/^rchar: //p' "/proc/$pushing/io" 2>/dev/null)
	sleep 0.5
	after=$(sed -n 's/^rchar: //p' "/proc/$pushing/io" 2>/dev/null)
	[ "${after:-0}" -gt 500000 ] && [ "$before" = "$after" ]
}

# The first interrupt ends the reading, the second the waiting.
interrupt() {
	kill -INT $pushing
	wait_until reading_ended
	kill -INT $pushing
	wait $pushing && fail "status 0 of an interrupted push"
	remaining=$(sed -n 's/^k2hft push: \([0-9]*\) records remain .*/\1/p' "$dir/errors")
	[ "${remaining:-0}" -gt 1000 ] || fail "$(cat "$dir/errors")"
}
reading_ended() { ! kill -0 $feeding 2>/dev/null; }

start
interrupt
grep -q 'they are lost' "$dir/errors" || fail "$(cat "$dir/errors")"
start
kill -KILL $pushing
wait $pushing 2>/dev/null

start --ring "$dir/ring"
interrupt
grep -q "they are in $dir/ring" "$dir/errors" || fail "$(cat "$dir/errors")"
receiver_start
# shellcheck disable=SC2086
$push --ring "$dir/ring" </dev/null || fail "push of what remained"
# What had been read of the last line is a record, too.
came=$(grep -c '' "$dir/out/numbers")
[ "$came" = "$remaining" ] || fail "$remaining were to remain, $came came"
cmp -n "$(stat -c %s "$dir/out/numbers")" "$dir/in" "$dir/out/numbers" || fail "what remained differs"
receiver_stop TERM
[ "$status" = 0 ] || fail "status $status"
