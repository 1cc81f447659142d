#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that is connected and takes nothing for a while: the ring fills, large writes wait, all else is served at
# once; then all arrives as written.
. tests/tools/mount.sh
settings='RINGSIZE = 8M'
start_receiver
start_mount
seq 1 3000000 >"$work/in"

# Enough to have the mount's worker send it by itself.
cat "$work/in" >"$sent/before"
kill -STOP "$receiver_pid"
writers=
for name in a b c d; do
	cat "$work/in" >"$sent/$name" &
	writers="$writers $!"
done
until_true 20 ring_full 1024 || fail "the ring does not fill"
for writer in $writers; do
	gone "$writer" && fail "a writer does not wait"
done
# These come behind the writes in the queue of the kernel: the worker has to go on reading it.
for number in 1 2 3 4 5 6 7 8 9; do
	timeout -k 5 20 sh -c "mkdir '$sent/dir$number' && ls '$sent' && : >'$sent/dir$number/empty'" >/dev/null ||
		fail "what needs no room is not served"
done
kill -CONT "$receiver_pid"
for writer in $writers; do
	wait "$writer" || fail "status $? of a writer"
done
stop_mount || fail "status $? of k2hftfuse"
for name in before a b c d; do
	cmp "$work/in" "$received/senddir/$name" || fail "$name did not arrive as written"
done
