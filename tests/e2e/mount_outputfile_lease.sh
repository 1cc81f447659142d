#!/bin/sh
# SPDX-License-Identifier: MIT
# Somebody can have a lease on the file that is OUTPUTFILE, as Samba and the kernel's NFS server take them for their
# clients: the mount waits until it is given back, as any program does that opens the file.
. tests/tools/mount.sh
rules="$rules
OUTPUTFILE = $work/output"
echo before >"$work/output"
cat >"$work/lease.py" <<'END'
import fcntl, signal, sys, time
file = open(sys.argv[1])
wanted = []
signal.signal(signal.SIGIO, lambda *_: wanted.append(True))
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
open(sys.argv[2], "w").close()
until = time.monotonic() + 120
while not wanted and time.monotonic() < until:
    time.sleep(0.01)
time.sleep(0.2)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
END
python3 "$work/lease.py" "$work/output" "$work/leased" &
lease_pid=$!
has_begun() {
	[ -e "$work/leased" ] || ended "$lease_pid"
}
until_true 60 has_begun || fail "no word about the lease"
[ -e "$work/leased" ] || skip "no leases here"
start_receiver
start_mount
wait "$lease_pid" || fail "the lease was not broken"
echo record >>"$sent/f"
printf 'before\nrecord\n' >"$work/wanted"
until_true 10 same "$work/wanted" "$work/output" || fail "$(cat "$work/output")"
stop_mount || fail "status $? of k2hftfuse"
