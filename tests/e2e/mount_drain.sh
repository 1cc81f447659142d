#!/bin/sh
# SPDX-License-Identifier: MIT
# The end: umount, SIGTERM and SIGHUP wait until all is acknowledged, open files included; DRAINTIMEOUT bounds it; a
# ring file keeps what remains, and the next mount sends it.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
pick_port
receiver_settings="[SVRNODE]
NAME = localhost
CTLPORT = $port"
control=$port
port=
rings() {
	[ "$(quick "$bin/k2hft" stat --metrics --timeout 60 "127.0.0.1:$control" |
		sed -n 's/^k2hft_receiver_ledger_rings //p')" = "$1" ]
}
unmounted() {
	! mounted
}
start_receiver
seq 1 300000 >"$work/in"

for how in umount TERM HUP INT; do
	start_mount
	quick cp "$work/in" "$sent/$how" || fail cp
	if [ $how = umount ]; then
		stop_mount || fail "status $? after umount"
	else
		kill -$how $mount_pid
		wait_mount || fail "status $? after SIG$how"
	fi
	! mounted || fail "$how: still mounted"
	cmp "$work/in" "$received/senddir/$how" || fail "$how: not all arrived"
	until_true 20 rings 0 || fail "$how: the receiver still knows a ring that was in memory"
done

# A receiver that takes nothing for a while is waited for, also when the first signal comes behind an unmount, as a system
# sends it that stops, and when the worker dies meanwhile.
start_mount
kill -STOP "$receiver_pid"
quick cp "$work/in" "$sent/late" || fail cp
quick umount "$mnt" 2>/dev/null || quick fusermount3 -u "$mnt" || fail "cannot be unmounted"
kill $mount_pid
sleep 1
gone "$mount_pid" && fail "it does not wait"
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
until_true 20 another_worker "$worker" || fail "no other worker"
sleep 1
gone "$mount_pid" && fail "the other worker does not wait"
kill -CONT "$receiver_pid"
wait_mount || fail "status $? although all is acknowledged in time"
cmp "$work/in" "$received/senddir/late" || fail "late: not all arrived"

# So does fsync(2): what it waits for is acknowledged.
start_mount
kill -STOP "$receiver_pid"
echo line >"$sent/synced"
python3 -c "import os
file = os.open('$sent/synced', os.O_RDONLY)
open('$work/syncs', 'w').close()
os.fsync(file)" &
syncs=$!
until_true 20 [ -e "$work/syncs" ] || fail "no fsync"
comes_to_wait $syncs
kill $mount_pid
sleep 0.5
kill -CONT "$receiver_pid"
wait_mount || fail "status $?"
wait $syncs || fail "fsync fails at the end"

# A file that is open has a line without its end: that is sent too, and further writes fail.
start_mount
exec 9>"$sent/open"
printf 'line\nhalf' >&9
kill $mount_pid
wait_mount || fail "status $?"
printf 'line\nhalf' | cmp - "$received/senddir/open" || fail "an open file's line was not ended"
printf more >&9 2>/dev/null && fail "a write after the end succeeded"
exec 9>&-

# Data behind a hole of a file in the page cache is sent, too, though nobody has closed the file.
settings='FLUSHMS = 2000'
start_mount
exec 9>>"$sent/hole"
quick python3 -c 'import fcntl, os
fcntl.fcntl(9, fcntl.F_SETFL, 0)
os.write(9, b"." * 4095 + b"\n")
os.lseek(9, 1 << 20, 0)
os.write(9, b"behind\n" * 4096)' || fail "a hole"
kill $mount_pid
wait_mount || fail "status $?"
exec 9>&-
[ "$(grep -c '^behind$' "$received/senddir/hole")" = 4096 ] || fail "what follows a hole"
settings=

# Nobody there: the second signal ends the wait.
stop_receiver
fixed_port=yes
settings='DRAINTIMEOUT = 3600'
start_mount
quick cp "$work/in" "$sent/twice" || fail cp
kill $mount_pid
until_true 20 unmounted || fail "still mounted"
kill $mount_pid
wait_mount && fail "status 0 although records are lost"
grep -q 'not waiting any longer' "$work/mount.err" || fail "no word of the second signal"

# The time is over: what remains is counted.
settings='DRAINTIMEOUT = 1'
start_mount
quick cp "$work/in" "$sent/lost" || fail cp
stop_mount && fail "status 0 although records are lost"
grep -q '300000 records are not acknowledged and lost' "$work/mount.err" || fail "no word of what is lost"

# So it is while more waits for room than the worker takes otherwise: what a file in the page cache has is asked for.
settings='DRAINTIMEOUT = 1
RINGSIZE = 1M'
start_mount
python3 - "$sent" <<'END' &
import os, sys, threading
appended = os.open(sys.argv[1] + "/appended", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(appended, b"line\n")
def write(number):
    try:
        os.write(os.open(f"{sys.argv[1]}/{number}", os.O_WRONLY | os.O_CREAT), b"x" * (1 << 20))
    except OSError:
        pass
for number in range(70):
    threading.Thread(target=write, args=(number,)).start()
END
writers=$!
# Whom the worker does not take keeps others from opening their files: they wait for that.
all_wait() {
	waiting=$(cat "/proc/$writers/task"/*/wchan 2>/dev/null | grep -o request_wait_answer | wc -l)
	[ "$waiting" -ge 66 ]
}
until_true 10 all_wait || echo "whether more than $waiting wait can't be seen here"
kill $mount_pid
wait_mount && fail "status 0 although records are lost"
wait $writers

settings="DRAINTIMEOUT = 1
K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no"
start_mount
quick cp "$work/in" "$sent/kept" || fail cp
stop_mount || fail "status $? although the file keeps all"
grep -q "300000 records are not acknowledged, $work/ring keeps them" "$work/mount.err" || fail "no word of what is kept"
start_receiver
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no"
start_mount
stop_mount || fail "status $?"
cmp "$work/in" "$received/senddir/kept" || fail "what the file kept did not arrive"
rings 1 || fail "the receiver does not know the ring of the file"

# The content of a file that is begun afresh, as it is by default, is lost, and the log says so.
stop_receiver
settings="DRAINTIMEOUT = 1
K2HTYPE = file
K2HFILE = $work/ring"
start_mount
quick cp "$work/in" "$sent/afresh" || fail cp
stop_mount || fail "status $? although the file keeps all"
! grep -q 'begun afresh' "$work/mount.err" || fail "nothing waited: $(cat "$work/mount.err")"
start_mount
stop_mount || fail "status $?"
grep -q "K2HFILE $work/ring is begun afresh, since K2HINIT is yes: 300000 records" "$work/mount.err" ||
	fail "no word of what is lost: $(cat "$work/mount.err")"
