#!/bin/sh
# SPDX-License-Identifier: MIT
# As soon as the last writer has closed its file, the mount can be unmounted: what sweeps the page cache is never below it
# then.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] && umount=umount || umount='fusermount3 -u'
cat >"$work/append.py" <<'END'
import os, subprocess, sys, time
path, lines, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
files = [os.open(f"{path}.{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for name in "ab"]
for number in range(lines):
    for file in files:
        os.write(file, b"%d " % number + b"." * 1020 + b"\n")
began = time.monotonic()
for file in files:
    os.close(file)
# For longer than a second no close(2) waits for what is swept.
late = time.monotonic() - began >= 1
status = subprocess.run(command).returncode
while late and status and time.monotonic() - began < 30:
    time.sleep(0.05)
    status = subprocess.run(command).returncode
sys.exit(status)
END
# Some are so large that they are swept while they are written.
lines_of() {
	[ $(($1 % 10)) = 0 ] && lines=40000 || lines=$((500 + $1 * 60))
}
start_receiver
all=0
for round in $(seq 50); do
	start_mount
	lines_of "$round"
	all=$((all + lines))
	# shellcheck disable=SC2086
	quick python3 "$work/append.py" "$sent/f" $lines $umount "$mnt" || fail "umount, round $round"
	wait_mount || fail "status $? of k2hftfuse, round $round"
done
for name in a b; do
	[ "$(wc -l <"$received/senddir/f.$name")" = "$all" ] || fail "$(wc -l <"$received/senddir/f.$name") lines of $all"
done
