#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines of 0, 1, 4096 bytes, 1 MiB and 64 MiB, through a ring of 64 MiB and through one of 64 KiB.
. tests/tools/mount.sh
start_receiver
python3 - "$work" <<'END'
import sys
for size in 0, 1, 4096, 1 << 20, 64 << 20:
    with open(f"{sys.argv[1]}/line.{size}", "wb") as file:
        file.write(b"before\n" + bytes(97 + i % 23 for i in range(min(size, 65536))) * max(1, size // 65536)
                   + b"\nafter\n" + b"x" * (size % 7777))
END
for ring in 64M 64K; do
	settings="RINGSIZE = $ring
LINEMAX = $([ $ring = 64M ] && echo 300000 || echo 30000)"
	start_mount
	for size in 0 1 4096 1048576 67108864; do
		[ $ring != 64K ] || [ $size != 67108864 ] || continue
		quick dd if="$work/line.$size" of="$sent/$ring.$size" bs=1M status=none || fail "line of $size bytes"
		arrives "$work/line.$size" "senddir/$ring.$size" 60
	done
	stop_mount || fail "status $? of k2hftfuse"
done
settings='RINGSIZE = 1M'
start_mount
quick cp "$work/line.67108864" "$sent/long" || fail "64 MiB through a ring of 1 MiB"
arrives "$work/line.67108864" senddir/long 60
stop_mount || fail "status $? of k2hftfuse"
