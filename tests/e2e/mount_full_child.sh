#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that holds a log open starts another while the ring is full and the receiver away: exec(3) closes the log, and
# waits for nothing. Nor does who opens the log only to close it.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
stop_receiver
fixed_port=yes
start_mount
mkfifo "$work/orders"
python3 tests/tools/append_without_end.py "$sent/f" "$work/copy" /bin/true <"$work/orders" >"$work/done" &
writer=$!
exec 3>"$work/orders"
comes_to_wait $writer
started() {
	[ "$(wc -l <"$work/done")" = "$1" ]
}
for round in 1 2 3; do
	echo >&3
	until_true 20 started "$round" || fail "child $round does not start"
done
gone $writer && fail "the writer does not wait"
quick sh -c ": >>'$sent/f'" || fail "who opens and closes the log waits"
kill -9 $writer
exec 3>&-
until_true 20 ended $writer || fail "a killed writer stays"
[ "$(sort -u "$work/done")" = 0 ] || fail "a child failed"
start_receiver
stop_mount || fail "status $? of k2hftfuse"
