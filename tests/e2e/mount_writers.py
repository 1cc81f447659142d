#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eight processes write lines of 1 byte to 200 KB to two files, in pieces of any size, through a ring of 1 MiB that is mostly
full: every line arrives whole, once, in its writer's order. The direct way: through the page cache pieces of lines come
between each other, as they do in any file."""
import hashlib
import random
import subprocess
import sys

LINES = 300
WRITER = f"""
import hashlib, os, random, sys
me = int(sys.argv[2])
choose = random.Random(me)
text = b"".join(b"%d %d %s\\n" % (me, number, hashlib.sha256(b"%d %d" % (me, number)).hexdigest().encode()
                * choose.choice((0, 1, 2, 50, 3000))) for number in range({LINES}))
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | (os.O_APPEND if me % 2 else 0))
at = 0
while at < len(text):
    bytes = choose.choice((1, 5, 100, 4096, 70000, 1 << 20, 3 << 20))
    at += os.write(descriptor, text[at:at + bytes])
os.close(descriptor)
"""
SCRIPT = f"""
. tests/tools/mount.sh
settings='RINGSIZE = 1M
LINEMAX = 250000
WRITEMODE = direct'
start_receiver
start_mount
pids=
for writer in 0 1 2 3 4 5 6 7; do
    quick "{sys.executable}" -c "$WRITER" "$sent/$((writer / 4))" $writer &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "a writer failed"; done
stop_mount || fail "status $? of k2hftfuse"
cat "$received/senddir/0" "$received/senddir/1" >&3
"""


def expected(writer):
    choose = random.Random(writer)
    for number in range(LINES):
        digest = hashlib.sha256(b"%d %d" % (writer, number)).hexdigest().encode()
        yield b"%d %d %s" % (writer, number, digest * choose.choice((0, 1, 2, 50, 3000)))


def main():
    run = subprocess.run(["sh", "-c", f"exec 3>&1 >&2; WRITER=$0; {SCRIPT}", WRITER], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        return run.returncode
    left = [expected(writer) for writer in range(8)]
    for line in run.stdout.split(b"\n")[:-1]:
        wanted = next(left[int(line[:1])], b"no more")
        assert line == wanted, f"{line[:60]!r} ({len(line)} bytes) instead of {wanted[:60]!r} ({len(wanted)} bytes)"
    assert not any(list(rest) for rest in left), "lines are missing"
    return 0


sys.exit(main())
