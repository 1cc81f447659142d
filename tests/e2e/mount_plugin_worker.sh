#!/bin/sh
# SPDX-License-Identifier: MIT
# Workers of a mount with plug-ins are killed: every record reaches the plug-in, whole. Those that were in its pipe come
# twice, since the process of the worker that died reads them, too.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
rules="[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
PLUGIN = /bin/cat
OUTPUTFILE = $work/copies/
[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW"
start_receiver
start_mount
start_killing 0.3
for turn in 1 2 3 4 5 6 7 8 9 10 11 12; do
	awk -v turn=$turn 'BEGIN { for (i = 1; i <= 20000; i++) printf "line %07d of many\n", turn * 100000 + i }' >"$work/part"
	cat "$work/part" >>"$work/in"
	quick sh -c "cat '$work/part' >>'$mnt/many/f'" || fail "a writer"
	sleep 0.2
done
stop_killing 3
all_there() { sort -u "$work/copies/f" | cmp -s - "$work/in"; }
until_true 30 all_there || fail "records: $(sort -u "$work/copies/f" | diff - "$work/in" | head -n 5)"
stop_mount
sort -u "$work/copies/f" | cmp - "$work/in" || fail "at the end"
