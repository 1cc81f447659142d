#!/bin/sh
# SPDX-License-Identifier: MIT
# BYTELIMIT: longer records are not sent, which is counted and logged; shorter ones arrive whole. An fsync(2) in the midst
# of a record does not change how long it is.
. tests/tools/mount.sh
settings='BYTELIMIT = 100
LINEMAX = 64'
start_receiver
start_mount
python3 - "$work" <<'END'
import sys
lengths = [0, 1, 63, 64, 65, 98, 99, 100, 101, 5000, 2000000, 99]
lines = [b"x" * length + b"\n" for length in lengths]
open(sys.argv[1] + "/in", "wb").write(b"".join(lines))
open(sys.argv[1] + "/out", "wb").write(b"".join(line for line in lines if len(line) <= 100))
END
quick cp "$work/in" "$sent/f" || fail cp
quick dd if="$work/in" of="$sent/g" bs=97 status=none || fail dd
arrives "$work/out" senddir/f
arrives "$work/out" senddir/g
quick python3 - "$sent/synced" <<'END' || fail "a writer that syncs"
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for part in b"begin", b"x" * 200 + b"\nsecond\n", b"y" * 60, b"y" * 60 + b"\nthird\n", b"sho", b"rt\n":
    os.write(file, part)
    os.fsync(file)
END
printf 'second\nthird\nshort\n' >"$work/synced"
arrives "$work/synced" senddir/synced
stop_mount || fail "status $? of k2hftfuse"
grep -q 'mount: senddir/f: a record over BYTELIMIT (100 bytes) was not sent' "$work/mount.err" || fail "no word of it"
