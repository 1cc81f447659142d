#!/bin/sh
# SPDX-License-Identifier: MIT
# Rotation as multilog and s6-log do it, who give the full file a second name and take its first one away, while the worker
# is killed: all lines are in the stream of the name under which the file was opened.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
start_receiver
start_mount
start_killing 0.1
quick python3 - "$sent" "$work/kills" "$work/expected" <<'END' || fail "a rotation"
import os, sys
os.chdir(sys.argv[1])
kills, expected = open(sys.argv[2]), open(sys.argv[3], "w")
number = seen = 0
while number < 200 or seen < 3:
    with open("current", "a", buffering=1) as current:
        for line in range(20):
            current.write(f"file {number} line {line}\n")
            expected.write(f"file {number} line {line}\n")
        os.fchmod(current.fileno(), 0o744)
    full = f"@{number:08}.s"
    os.link("current", full)
    assert os.stat(full).st_nlink == 2 and os.path.samefile("current", full)
    os.unlink("current")
    assert os.stat(full).st_nlink == 1 and os.stat(full).st_mode & 0o777 == 0o744
    if number >= 5:
        os.unlink(f"@{number - 5:08}.s")
    number += 1
    seen += len(kills.read())
assert sorted(os.listdir(".")) == [f"@{number:08}.s" for number in range(number - 5, number)], os.listdir(".")
END
stop_killing 3
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/expected" "$received/senddir/current" || fail "lines are missing or out of order"
[ "$(ls "$received/senddir")" = current ] || fail "other streams: $(ls "$received/senddir")"
