#!/bin/sh
# SPDX-License-Identifier: MIT
# While the ring is full, who appends to a log waits, also who opens it for each line, and goes on when there is room. SIGINT
# ends the wait, with nothing of that line taken.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
stop_receiver
fixed_port=yes
start_mount
python3 tests/tools/append_without_end.py "$sent/f" "$work/endless" &
writer=$!
# Each write waits a little for its answer; who is counted here waits for room.
waiting() { [ "$("$bin/k2hft" stat "$mnt" | sed -n 's/^ *waiting_writers *\([0-9]*\) .*/\1/p')" = "$1" ]; }
until_true 20 waiting 1 || fail "the writer does not come to wait"
accepted=$(wc -c <"$work/endless")
# A file that is opened anew, and one that the kernel knows from before, whose size it needs not ask for.
: >"$work/again"
sh -c "while :; do echo line >>'$sent/again' && echo line >>'$work/again'; done" &
again=$!
sh -c "exec echo other >>'$sent/other'" &
other=$!
until_true 20 waiting 3 || fail "not all of them come to wait"
before=$(wc -l <"$work/again")
sleep 0.5
[ "$(wc -l <"$work/again")" = "$before" ] || fail "who opens the log for each line does not wait"
[ "$(wc -c <"$work/endless")" = "$accepted" ] || fail "the writer does not wait"
waiting 3 || fail "not all of them wait any longer"
gone $writer && fail "the writer does not wait"
python3 tests/tools/append_without_end.py "$sent/interrupted" "$work/interrupted" &
interrupted=$!
comes_to_wait $interrupted
kill -INT $interrupted
until_true 20 ended $interrupted || fail "SIGINT does not end the wait"
wait $interrupted
[ $? = 3 ] || fail "SIGINT is not heard of"
start_receiver
went_on() {
	[ "$(wc -c <"$work/endless")" -gt $((accepted + 4000000)) ] && [ "$(wc -l <"$work/again")" -gt "$((before + 3))" ]
}
until_true 20 went_on || fail "the writers do not go on"
wait $other || fail "status $? of who appended one line"
kill -9 $writer $again
wait $writer $again 2>/dev/null
stop_mount || fail "status $? of k2hftfuse"
echo other | cmp - "$received/senddir/other" || fail "what waited did not arrive"
touch "$received/senddir/interrupted"
cmp "$work/interrupted" "$received/senddir/interrupted" || fail "the interrupted line arrived"
