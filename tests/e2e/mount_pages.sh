#!/bin/sh
# SPDX-License-Identifier: MIT
# Pages that were taken of a file leave the page cache: while its writer has it open, when that closes it, and when it is opened
# and closed again and again; and the mount can be unmounted as soon as its writers have closed.
. tests/tools/mount.sh
cat >"$work/append.py" <<'END'
import os, sys
sys.path.insert(0, "tests/tools")
from cached_pages import cached_bytes, wait_until_left
how, path, copy = sys.argv[1:]
MIB = 1 << 20
LEFT = MIB + os.sysconf("SC_PAGESIZE")
line = b"." * 1022 + b"\n"
data = b"".join(b"%d" % (n % 10) + line for n in range(1024))
assert len(data) == MIB
copy = open(copy, "wb")
writer = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
look = os.open(path, os.O_RDONLY)
cached_bytes(look)
def append(bytes):
    written = 0
    while written < len(bytes):
        written += os.write(writer, bytes[written:])
    copy.write(bytes)
if how == "held":
    append(data * 128)
    wait_until_left(look, LEFT)
    append(b"one more line\n")
    append(data * 3)
    wait_until_left(look, LEFT)
elif how == "closed":
    append(data * 16)
    os.close(writer)
    wait_until_left(look, LEFT)
else:
    for at in range(0, 4 * MIB, 4096):
        append(data[at % MIB:at % MIB + 4096])
        os.close(writer)
        writer = os.open(path, os.O_WRONLY | os.O_APPEND)
    wait_until_left(look, LEFT)
END
start_receiver
start_mount
for how in held closed reopened; do
	quick python3 "$work/append.py" $how "$sent/$how" "$work/$how"
	status=$?
	[ $status != 77 ] || exit 77
	[ $status = 0 ] || fail "$how"
	arrives "$work/$how" senddir/$how
done
stop_mount || fail "status $? of k2hftfuse"
