#!/bin/sh
# SPDX-License-Identifier: MIT
# As soon as the last writer has closed its file, the mount can be unmounted.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] && umount=umount || umount='fusermount3 -u'
cat >"$work/append.py" <<'END'
import os, subprocess, sys
path, lines, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
files = [os.open(f"{path}.{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for name in "ab"]
for number in range(lines):
    for file in files:
        os.write(file, b"%d " % number + b"." * 1020 + b"\n")
for file in files:
    os.close(file)
sys.exit(subprocess.run(command).returncode)
END
start_receiver
for round in $(seq 20); do
	start_mount
	# shellcheck disable=SC2086
	quick python3 "$work/append.py" "$sent/f" $((round * 500)) $umount "$mnt" || fail "umount, round $round"
	wait_mount || fail "status $? of k2hftfuse, round $round"
done
for name in a b; do
	[ "$(wc -l <"$received/senddir/f.$name")" = 105000 ] || fail "$(wc -l <"$received/senddir/f.$name") lines of 105000"
done
