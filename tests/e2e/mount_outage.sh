#!/bin/sh
# SPDX-License-Identifier: MIT
# The receiver is stopped in the middle of a copy and started again: all arrives.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
start_mount
seq 1 1500000 >"$work/in"
cat "$work/in" >"$sent/f" &
writer=$!
some() {
	[ "$(wc -c <"$received/senddir/f" 2>/dev/null || echo 0)" -gt 1000000 ]
}
until_true 20 some || fail "nothing arrives"
stop_receiver
sleep 1
gone $writer && fail "the writer is not held back"
fixed_port=yes
start_receiver
wait $writer || fail "status $? of the writer"
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/in" "$received/senddir/f" || fail "not what was written"
