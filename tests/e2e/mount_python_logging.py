#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Four processes log to one file of the mount with logging.FileHandler: every line arrives, once, in each one's order."""
import subprocess
import sys

LINES = 2000
WRITER = f"""
import logging, sys
logging.basicConfig(handlers=[logging.FileHandler(sys.argv[1])], format="%(message)s", level=logging.INFO)
for number in range({LINES}):
    logging.info("writer %s line %d %s", sys.argv[2], number, "." * (number % 300))
"""
SCRIPT = f"""
. tests/tools/mount.sh
start_receiver
start_mount
pids=
for writer in 0 1 2 3; do
    quick "{sys.executable}" -c "$WRITER" "$sent/app.log" $writer &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "a writer failed"; done
stop_mount || fail "status $? of k2hftfuse"
cat "$received/senddir/app.log" >&3
"""


def main():
    run = subprocess.run(["sh", "-c", f'exec 3>&1 >&2; WRITER=$0; {SCRIPT}', WRITER], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        return run.returncode
    seen = [0] * 4
    for line in run.stdout.decode().splitlines():
        _, writer, _, number, *dots = line.split(" ")
        assert int(number) == seen[int(writer)], line
        assert "".join(dots) == "." * (int(number) % 300), line
        seen[int(writer)] += 1
    assert seen == [LINES] * 4, seen
    return 0


sys.exit(main())
