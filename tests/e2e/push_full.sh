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
	# Python reads, too.
	wait_until is_push
	begun=$(bytes_read)
	cat "$dir/in" >"$dir/pipe" 2>/dev/null &
	feeding=$!
	wait_until blocked
}

# The number of bytes read does not grow any more.
blocked() {
	before=$(bytes_read)
	sleep 0.5
	after=$(bytes_read)
	[ $((${after:-0} - begun)) -gt 500000 ] && [ "$before" = "$after" ]
}
bytes_read() { sed -n 's/^rchar: //p' "/proc/$pushing/io" 2>/dev/null; }
is_push() { [ "$(cat "/proc/$pushing/comm")" = k2hft ]; }

# The first interrupt ends the reading, the second the waiting.
interrupt() {
	kill -INT $pushing
	wait_until reading_ended
	kill -INT $pushing
	wait $pushing && fail "status 0 of an interrupted push"
	remaining=$(sed -n 's/^k2hft push: \([0-9]*\) records are not acknowledged .*/\1/p' "$dir/errors")
	[ "${remaining:-0}" -gt 1000 ] || fail "$(cat "$dir/errors")"
}
reading_ended() { ! kill -0 $feeding 2>/dev/null; }

start
interrupt
grep -q 'what remains is lost' "$dir/errors" || fail "$(cat "$dir/errors")"
start
kill -KILL $pushing
wait $pushing 2>/dev/null

start --ring "$dir/ring"
interrupt
grep -q "what remains is in $dir/ring" "$dir/errors" || fail "$(cat "$dir/errors")"
receiver_start
# shellcheck disable=SC2086
$push --ring "$dir/ring" </dev/null || fail "push of what remained"
# The part of the last line that had been read is a record, too.
came=$(grep -c '' "$dir/out/numbers")
[ "$came" = "$remaining" ] || fail "$remaining were to remain, $came came"
cmp -n "$(stat -c %s "$dir/out/numbers")" "$dir/in" "$dir/out/numbers" || fail "what remained differs"
receiver_stop TERM

# Another process fills the ring, an interrupt ends the reading, and then a receiver comes: what was read of the last line
# waits for room, too.
rm "$dir/pipe" "$dir/out/numbers"
mkfifo "$dir/pipe"
# shellcheck disable=SC2086
python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
	$push --ring "$dir/ring" "$dir/pipe" 2>"$dir/errors" &
pushing=$!
exec 3>"$dir/pipe"
exec 4<"$dir/pipe"
printf '%0100000d' 7 | tee "$dir/in" >&3
pipe_drained
"${B:-build}/bin/k2hft" verify --make -q --attach "$dir/ring" -t others -n 20000 --timeout 1 2>/dev/null 3>&- &&
	fail "the ring is not full"
kill -INT $pushing
exec 3>&-
receiver_start
wait $pushing || fail "status of an interrupted push: $(cat "$dir/errors")"
# The rest in the pipe goes on where it ended.
cat "$dir/out/numbers" - <&4 | cmp - "$dir/in" || fail "what was read is not what arrived"
receiver_stop TERM
