#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that locks the ring's file, byte 2 of it too, holds nobody up. One that is attached and stopped in the midst of
# a declaration keeps files from being opened anew, until it goes on or is killed; open files are served.
. tests/tools/mount.sh
attach=${B:-build}/examples/attach_ring
[ -x "$attach" ] || skip "the examples are not built here"
settings="K2HTYPE = file
K2HFILE = $work/ring
RINGSIZE = 4M"
start_receiver
start_mount

for lock in LOCK_SH LOCK_EX; do
	python3 - "$work/ring" $lock "$work/locked" <<'END' &
import fcntl, os, sys, time
ring = os.open(sys.argv[1], os.O_RDWR)
fcntl.lockf(ring, getattr(fcntl, sys.argv[2]), 1, 2)
open(sys.argv[3], "w")
time.sleep(600)
END
	locker=$!
	until_true 20 [ -e "$work/locked" ] || fail "no lock"
	quick sh -c "echo $lock >'$sent/$lock'" || fail "$lock: a new file"
	quick sync "$sent/$lock" || fail "$lock: sync"
	gone $locker && fail "$lock: the locker ended"
	kill $locker
	wait $locker
	rm "$work/locked"
done

mkfifo "$work/pipe"
"$attach" "$mnt/.k2hft-ring" attached/a.log <"$work/pipe" &
attached=$!
exec 3>"$work/pipe"
seq 20000 >&3
until_true 20 arrived attached/a.log 1000 || fail "a.log does not grow"
exec 4>>"$sent/open"
kill -STOP $attached
# The word that names the declarer, and the places of attached processes: lib/ring/layout.h.
python3 - "$work/ring" $attached <<'END' || fail "its place in the ring was not found"
import os, sys
ring = os.open(sys.argv[1], os.O_RDWR)
owners = (os.pread(ring, 8, 4096 + 64 * slot) for slot in range(1024))
owner = next(owner for owner in owners if int.from_bytes(owner, sys.byteorder) >> 32 == int(sys.argv[2]))
os.pwrite(ring, owner, 904)
END
quick sh -c "echo new >'$sent/new'" &
opener=$!
for line in 1 2 3 4 5; do
	echo $line >&4
	quick sync "$sent/open" || fail "sync of an open file"
done
gone $opener && fail "a new file was opened while a declaration was under way"
kill -KILL $attached
wait $attached
wait $opener || fail "a new file after that"
exec 3>&- 4>&-
seq 5 >"$work/expected"
arrives "$work/expected" senddir/open
echo new >"$work/expected"
arrives "$work/expected" senddir/new
stop_mount || fail "status $?"
