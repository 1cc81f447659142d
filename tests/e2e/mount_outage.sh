#!/bin/sh
# SPDX-License-Identifier: MIT
# The receiver is stopped in the middle of a copy and started again: all arrives.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
start_mount
seq 1 1500000 >"$work/in"
mkfifo "$work/gate"
{
	head -c 4000000 "$work/in"
	cat "$work/gate"
	tail -c +4000001 "$work/in"
} >"$sent/f" &
writer=$!
until_true 20 arrived senddir/f 3900000 || fail "nothing arrives"
stop_receiver
fixed_port=yes
: >"$work/gate"
until_true 20 ring_full 130 || fail "the ring does not fill"
gone $writer && fail "the writer is not held back"
start_receiver
wait $writer || fail "status $? of the writer"
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/in" "$received/senddir/f" || fail "not what was written"
