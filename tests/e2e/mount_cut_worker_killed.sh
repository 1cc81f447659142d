#!/bin/sh
# SPDX-License-Identifier: MIT
# The worker is killed again and again while files are cut, for each of which it forks, and others are written: nobody sees
# an error, and what was written arrives.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='RINGSIZE = 1M'
start_receiver
start_mount
cat >"$work/write.py" <<'END'
import os, sys, time
path, kills = sys.argv[1:]
written = 0
descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if "cut" in path else 0))
lines = b"x" * 1048575 + b"\n"
while os.path.getsize(kills) < 50:
    if "cut" in path:
        os.write(descriptor, b"line\n")
        os.ftruncate(descriptor, 0)
    else:
        assert os.write(descriptor, lines) == len(lines)
        os.write(1, lines)
        # Where each kill takes seconds the disk would be full before the last one.
        written += 1
        time.sleep(0 if written < 512 else 0.1)
END
start_killing 0.07
for name in cut1 cut2 one two; do
	python3 "$work/write.py" "$sent/$name" "$work/kills" >"$work/$name" &
	eval "$name=$!"
done
# shellcheck disable=SC2154
for writer in $cut1 $cut2 $one $two; do
	wait "$writer" || fail "a writer saw an error"
done
stop_killing 50
arrives "$work/one" senddir/one
arrives "$work/two" senddir/two
stop_mount || fail "status $?"
