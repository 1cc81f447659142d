#!/bin/sh
# SPDX-License-Identifier: MIT
# Sender and receiver are each killed with SIGKILL in the middle of a copy; with a ring file every line that was accepted
# arrives once and in order.
. tests/tools/mount.sh
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
RINGSIZE = 1M"
start_receiver
start_mount
# More than ring and sockets hold.
seq 1 6000000 >"$work/in"
cat "$work/in" >"$sent/f" &
writer=$!
some() {
	[ "$(wc -c <"$received/senddir/f" 2>/dev/null || echo 0)" -gt "$1" ]
}
until_true 20 some 1000000 || fail "nothing arrives"
kill -9 $receiver_pid
wait $receiver_pid 2>/dev/null
fixed_port=yes
start_receiver
until_true 20 some 4000000 || fail "the receiver does not go on"
kill -STOP $receiver_pid # or the copy could be over before the kill
kill -9 $mount_pid
wait $mount_pid 2>/dev/null
kill -CONT $receiver_pid
wait $writer && fail "the writer did not notice the end of the mount"
umount "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
start_mount
stop_mount || fail "status $? of the second mount"
got=$(wc -c <"$received/senddir/f")
[ "$got" -gt 4000000 ] || fail "only $got bytes arrived"
head -c "$got" "$work/in" | cmp - "$received/senddir/f" || fail "not a beginning of what was written"
[ "$(tail -c 1 "$received/senddir/f")" = "" ] || fail "the last line is not whole"
