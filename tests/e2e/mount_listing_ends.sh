#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that makes a file for each that a listing shows comes to an end; listed again by the same descriptor the directory has all
# of them. Workers that are killed meanwhile change nothing of that.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
pick_port
start_mount
cat >"$work/list.py" <<'END'
import os, sys
os.chdir(sys.argv[1])
for name in range(300):
    os.close(os.open(f"{name}", os.O_CREAT | os.O_WRONLY))
for step in range(int(sys.argv[2])):
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    with os.scandir(directory) as entries:
        for seen, entry in enumerate(entries, 1):
            os.close(os.open(f"{entry.name}.{step}", os.O_CREAT | os.O_WRONLY))
            if seen > 300:
                sys.exit(f"{entry.name} has come since the listing began")
    again = os.listdir(directory)
    os.close(directory)
    if seen != 300 or len(again) != 600 or len(set(again)) != 600:
        sys.exit(f"{seen} of 300, then {len(again)} of 600 names")
    for name in range(300):
        os.unlink(f"{name}.{step}")
END
quick python3 "$work/list.py" "$sent" 1 || fail "a listing"
start_killing 0.03
quick python3 "$work/list.py" "$sent" 4 || fail "a listing while workers are killed"
stop_killing 3
stop_mount || fail "status $? of k2hftfuse"
