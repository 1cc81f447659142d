#!/bin/sh
# SPDX-License-Identifier: MIT
# The sweeper is killed with SIGKILL every 100 ms, and the worker too, while several processes append: every byte arrives
# once and in order, another sweeper does what the one before left, and the mount ends cleanly. A sweeper that stands
# still holds nobody up for good.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
cat >"$work/append.py" <<'END'
import os, sys, time
sys.path.insert(0, "tests/tools")
from cached_pages import cached_bytes, wait_until_left
path, copy, rounds = sys.argv[1], open(sys.argv[2], "ab"), int(sys.argv[3])
writer = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
look = os.open(path, os.O_RDONLY)
cached_bytes(look)
def killed():
    return sum(1 for _ in open(sys.argv[4])) if len(sys.argv) > 4 else 3
round = 0
while round < rounds or killed() < 3:
    for number in range(2 << 10):
        line = b"%d %d " % (round, number) + b"." * 1000 + b"\n"
        assert os.write(writer, line) == len(line)
        copy.write(line)
    if round % 4 == 0:
        os.close(writer)
        writer = os.open(path, os.O_WRONLY | os.O_APPEND)
    round += 1
    if round > rounds:
        time.sleep(0.1)
if rounds == 0:
    wait_until_left(look, 1 << 20)
END
# append NAME ROUNDS [KILLS]: three writers append so often 2 MiB, and until KILLS has three lines; 0: they wait until that
# has left the cache.
append() {
	pids=
	for writer in one two three; do
		timeout -k 5 90 python3 "$work/append.py" "$sent/$1.$writer" "$work/$1.$writer" "$2" ${3:+"$3"} &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid"
		status=$?
		[ $status != 77 ] || exit 77
		[ $status = 0 ] || fail "$1: a writer"
	done
}
# append_while_killed PROCESS ROUNDS
append_while_killed() {
	victim=$1
	start_killing 0.1
	append "$1" "$2" "$work/kills"
	stop_killing 3
	for writer in one two three; do
		arrives "$work/$1.$writer" "senddir/$1.$writer"
	done
	append "$1" 0
}
start_receiver
start_mount
until_true 20 sweeper_of "$mount_pid" || fail "no sweeper"
append_while_killed k2hftfuse-sweep 30
until_true 20 grep -q 'the sweeper died' "$work/mount.err" || fail "no word of it"
append_while_killed k2hftfuse 30
until_true 20 sweeper_of "$mount_pid" || fail "no other sweeper"

# The close of a file that it is to sweep is answered nevertheless, and so is its next one.
kill -STOP "$sweeper"
for file in first second first; do
	quick sh -c "head -c 3000000 /dev/zero | tr '\\0' '\\n' >>'$sent/$file'" || fail "$file waits for a sweeper that stands still"
done
kill -CONT "$sweeper"
append afterwards 2
append afterwards 0
kill -STOP "$sweeper"
stop_mount || fail "status $? of k2hftfuse"
gone "$sweeper" || fail "a sweeper that stands still outlives its mount"
