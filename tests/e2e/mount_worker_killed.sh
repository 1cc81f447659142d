#!/bin/sh
# SPDX-License-Identifier: MIT
# The process that serves the mount is killed with SIGKILL every 200 ms: writers see no error, and every byte arrives once
# and in order, whatever is written: 1 MiB at a time, in pieces of lines, or a line at a time by many who open and close;
# of what a rule judges, too.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
rules="$rules
[K2HFTFUSE_RULE_DIR]
TARGET = judged
TRUNS = on
DEFAULTALL = ALLOW
DENY = \"7\$\"
DENY = 4567"
start_receiver
start_mount
seq 1 8000000 >"$work/in"
yes 12345678 | head -c 200000 >"$work/pieces"
append() {
	python3 - "$1" <<'END'
import sys, time
for number in range(1000):
    with open(sys.argv[1], "a") as file:
        file.write("line %d\n" % number)
    time.sleep(0.001)
END
}
append "$work/appended"
start_killing 0.2
for name in 1 2 3; do
	quick cat "$work/in" >"$sent/copied.$name" || fail "cat: status $?"
	quick cat "$work/in" >"$mnt/judged/$name" || fail "cat: status $?"
done
quick dd if="$work/pieces" of="$sent/pieces" bs=10 status=none || fail "dd: status $?"
append "$sent/appended" || fail "append: status $?"
stop_killing 5
stop_mount || fail "status $? of k2hftfuse"
grep -v -e '7$' -e 4567 "$work/in" >"$work/passed"
for name in 1 2 3; do
	cmp "$work/passed" "$received/judged/$name" || fail "judged/$name"
	cmp "$work/in" "$received/senddir/copied.$name" || fail "copied.$name"
done
cmp "$work/pieces" "$received/senddir/pieces" || fail "pieces"
cmp "$work/appended" "$received/senddir/appended" || fail "appended"
