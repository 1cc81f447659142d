#!/bin/sh
# SPDX-License-Identifier: MIT
# The worker is killed while writers are blocked by a full ring, records go through a rule, names come and go, and three
# write to one file: nobody sees an error, every record arrives once, and each writer's in order.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='RINGSIZE = 1M'
rules="$rules
[K2HFTFUSE_RULE_DIR]
TARGET = filtered
TRUNS = on
DEFAULTALL = DENY
ALLOW = \"7\""
start_receiver
start_mount
seq 1 1000000 >"$work/in"
start_killing 0.04
quick cat "$work/in" >"$mnt/filtered/f" &
filtered=$!
quick dd if="$work/in" of="$sent/odd" bs=1237 status=none &
odd=$!
stop_receiver
fixed_port=yes
quick python3 - "$sent" "$work/kills" <<'END' || fail "names"
import os, sys
at, kills = sys.argv[1:]
number = 0
while number < 150 or os.path.getsize(kills) < 10:
    number += 1
    first, second = f"{at}/a{number}", f"{at}/b{number}"
    os.mkdir(first)
    os.rename(first, second)
    os.close(os.open(second + "/new", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    assert os.listdir(second) == ["new"]
    os.unlink(second + "/new")
    os.rmdir(second)
    assert not os.path.exists(second)
END
start_receiver
for name in 1 2 3; do
	seq -f "$name %.0f" 10000 >"$work/writer.$name"
	python3 - "$work/writer.$name" "$sent/three" <<'END' &
import sys
with open(sys.argv[2], "ab", buffering=0) as file:
    for line in open(sys.argv[1], "rb"):
        file.write(line)
END
	eval "writer$name=$!"
done
# shellcheck disable=SC2154
for pid in $writer1 $writer2 $writer3 $filtered $odd; do
	wait "$pid" || fail "status $? of a writer"
done
stop_killing 10
stop_mount || fail "status $? of k2hftfuse"
grep 7 "$work/in" | cmp - "$received/filtered/f" || fail "filtered"
cmp "$work/in" "$received/senddir/odd" || fail "odd"
[ "$(wc -l <"$received/senddir/three")" = 30000 ] || fail "three writers' lines"
for name in 1 2 3; do
	grep "^$name " "$received/senddir/three" | cmp - "$work/writer.$name" || fail "writer $name"
done
