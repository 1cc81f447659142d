#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that comes to be, as another's OUTPUTFILE, just when somebody opens it with O_CREAT: he opens the one that is there.
# With O_EXCL one that was there before is refused.
. tests/tools/mount.sh
rules='[K2HFTFUSE_RULE_DIR]
TARGET = in
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = out/
[K2HFTFUSE_RULE_DIR]
TARGET = out
TRUNS = on
DEFAULTALL = ALLOW'
pick_port
start_mount
quick python3 - "$mnt" <<'END' || fail "not opened"
import os, sys
mount, rounds = sys.argv[1], 3000
begins, wait = os.pipe()
if os.fork() == 0:
    os.close(wait)
    for number in range(rounds):
        os.read(begins, 1)
        os.close(os.open(f"{mount}/in/{number}", os.O_CREAT | os.O_WRONLY))
    os._exit(0)
for number in range(rounds):
    os.write(wait, b"x")
    for delay in range(number % 50):
        os.stat("/")
    os.close(os.open(f"{mount}/out/{number}", os.O_CREAT | os.O_WRONLY))
assert os.wait()[1] == 0
try:
    os.open(f"{mount}/out/0", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    sys.exit("O_EXCL opened a file that was there")
except FileExistsError:
    pass
END
