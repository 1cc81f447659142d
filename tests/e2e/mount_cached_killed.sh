#!/bin/sh
# SPDX-License-Identifier: MIT
# The worker is killed with SIGKILL every 200 ms while several processes append through the page cache, to a ring with room
# and to one that is mostly full: writers see no error, and every byte arrives once and in order.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
cat >"$work/append.py" <<'END'
import os, sys, time
path, name, count = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(count):
    os.write(descriptor, b"%s %d %s\n" % (name, number, b"." * (number % 97)))
    if number % 500 == 0:
        time.sleep(0.01)
    if number % 7000 == 0:
        os.fsync(descriptor)
os.close(descriptor)
END
cat >"$work/check.py" <<'END'
import sys
seen = dict.fromkeys((b"one", b"two", b"three"), 0)
for line in open(sys.argv[1], "rb"):
    name, number, dots = line.rstrip(b"\n").split(b" ")
    assert int(number) == seen[name], (line, seen)
    assert dots == b"." * (int(number) % 97), line
    seen[name] += 1
assert set(seen.values()) == {int(sys.argv[2])}, seen
END
# append_and_kill NAME COUNT
append_and_kill() {
	pids=
	for writer in one two three; do
		timeout -k 5 200 python3 "$work/append.py" "$sent/$1" $writer "$2" &
		pids="$pids $!"
	done
	timeout -k 5 200 dd if="$work/pieces" of="$sent/$1.dd" bs=10 oflag=append conv=notrunc status=none || fail "dd: status $?"
	for pid in $pids; do wait "$pid" || fail "a writer failed"; done
}
yes 12345678 | head -c 1000000 >"$work/pieces"
start_receiver
start_mount
start_killing 0.2
append_and_kill room 40000
stop_killing 3
stop_mount || fail "status $? of k2hftfuse"
settings='RINGSIZE = 1M'
start_mount
start_killing 0.2
append_and_kill full 60000
stop_killing 3
stop_mount || fail "status $? of k2hftfuse"
python3 "$work/check.py" "$received/senddir/room" 40000 || fail room
python3 "$work/check.py" "$received/senddir/full" 60000 || fail full
cmp "$work/pieces" "$received/senddir/room.dd" || fail room.dd
cmp "$work/pieces" "$received/senddir/full.dd" || fail full.dd
