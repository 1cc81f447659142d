#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes of all sizes, small and large ones by turns, with lines that begin in one and end in another: every byte arrives
# as it was written, and nothing is refused, whatever the ring has room for.
. tests/tools/mount.sh
start_receiver

for ring in 1M 2M 8M; do
	settings="RINGSIZE = $ring"
	start_mount
	# The first of each three begins a line that is too long for what stands in front of a request in the ring.
	quick python3 - "$sent/$ring" "$work/$ring" <<'END' || fail "a write with RINGSIZE = $ring"
import os, random, sys

random.seed(1)
sizes = (1, 100, 4096, 65536, 131072, 262143, 262144, 262145, 300000, 1048575, 1048576, 1500000)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
text = random.randbytes(4 << 20).translate(bytes(32 + i % 90 if i else 10 for i in range(256)))
with open(sys.argv[2], "wb") as copy:
    for step in range(150):
        parts = [b"a" * random.choice((20000, 260000, 300000)), b"b" * random.choice((1, 200000, 262144)) + b"\n"]
        begin = random.randrange(1 << 20)
        parts.append(text[begin:begin + (random.choice(sizes) if step % 50 < 25 else random.randrange(200000))] + b"\n")
        for part in parts:
            assert os.write(out, part) == len(part)
            copy.write(part)
END
	arrives "$work/$ring" "senddir/$ring"
	stop_mount || fail "status $? of k2hftfuse"
done
