#!/bin/sh
# SPDX-License-Identifier: MIT
# An OUTPUTFILE can be a named pipe: all records go to who reads it. While nobody does, they are left out there, which is
# told and counted, and the mount goes on.
. tests/tools/mount.sh
mkfifo "$work/pipe" || fail mkfifo
rules="$rules
OUTPUTFILE = $work/pipe"
# As much as the pipe has room for, however long its reader takes, and more than that.
seq 1 10000 >"$work/few"
seq 1 100000 >"$work/many"
start_receiver
start_mount
cat "$work/pipe" >"$work/read" &
reader_pid=$!
append() { # in the background: it can't be ended while the mount does not answer
	cat "$1" >>"$sent/f" &
	writer_pid=$!
	until_true 30 ended "$writer_pid" || fail "the mount does not answer: $1"
	wait "$writer_pid" || fail "status $? of a write: $1"
}
append "$work/few"
until_true 20 same "$work/few" "$work/read" || fail "the reader has not got all: $(wc -c <"$work/read")"
kill "$reader_pid"
wait "$reader_pid" 2>/dev/null
append "$work/many"
quick ls "$mnt" >"$work/out" || fail "the mount does not answer"
grep -q "$work/pipe: No buffer space available" "$work/mount.err" || fail "no word of it"
grep -q '"output_errors": *[1-9]' "$mnt/.k2hft-stat" || fail "not counted: $(grep output "$mnt/.k2hft-stat")"
stop_mount || fail "status $? of k2hftfuse"
cat "$work/few" "$work/many" >"$work/both"
arrives "$work/both" senddir/f
