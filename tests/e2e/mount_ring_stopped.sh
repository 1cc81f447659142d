#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that has taken much stops: the ring of the mount takes records until it is full, and no writer waits before.
. tests/tools/mount.sh
settings='RINGSIZE = 64M'
start_receiver
start_mount
seq 5000000 5999999 >"$work/lines"
cat "$work/lines" "$work/lines" "$work/lines" "$work/lines" >"$work/expected"
cat "$work/expected" "$work/expected" >"$sent/f" || fail "a write"
kill -STOP "$receiver_pid"
cat "$work/expected" "$work/lines" "$work/lines" >"$sent/g" &
writer=$!
until_true 30 ended $writer || fail "the writer waits while the ring has room"
wait $writer || fail "status $? of the writer"
kill -CONT "$receiver_pid"
cat "$work/expected" "$work/expected" >"$work/f"
cat "$work/expected" "$work/lines" "$work/lines" >"$work/g"
arrives "$work/f" senddir/f
arrives "$work/g" senddir/g
stop_mount || fail "status $? of k2hftfuse"
