#!/bin/sh
# SPDX-License-Identifier: MIT
# Receiver and sender are each killed with SIGKILL in the middle of a copy: with a ring file every line that got there
# arrives, once and in order, and the writer hears of the end.
. tests/tools/mount.sh
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
RINGSIZE = 1M"
start_receiver
start_mount
seq 1 2000000 >"$work/in"
mkfifo "$work/gate1" "$work/gate2"
{
	head -c 4000000 "$work/in"
	cat "$work/gate1"
	tail -c +4000001 "$work/in" | head -c 4000000
	cat "$work/gate2"
	tail -c +8000001 "$work/in"
} >"$sent/f" 2>"$work/writer.err" &
writer=$!
until_true 20 arrived senddir/f 3900000 || fail "nothing arrives"
kill -9 "$receiver_pid"
wait "$receiver_pid" 2>/dev/null
: >"$work/gate1"
fixed_port=yes
start_receiver
until_true 20 arrived senddir/f 7900000 || fail "the receiver does not go on"

# Nothing is acknowledged now: the ring fills, and with it full the sender dies.
kill -STOP "$receiver_pid"
: >"$work/gate2"
not_growing() {
	before=$size
	size=$(quick stat -c %s "$sent/f")
	sleep 0.2
	[ "$size" -gt 8500000 ] && [ "$size" = "$before" ]
}
size=0
until_true 20 not_growing || fail "the ring does not fill"
kill -9 "$mount_pid"
wait "$mount_pid" 2>/dev/null
wait $writer && fail "the writer did not notice the end of the mount"
umount "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
kill -CONT "$receiver_pid"
start_mount
stop_mount || fail "status $? of the second mount"
got=$(wc -c <"$received/senddir/f")
[ "$got" -gt 8000000 ] || fail "only $got bytes arrived"
head -c "$got" "$work/in" | cmp - "$received/senddir/f" || fail "not a beginning of what was written"
[ "$(tail -c 1 "$received/senddir/f")" = "" ] || fail "the last line is not whole"
