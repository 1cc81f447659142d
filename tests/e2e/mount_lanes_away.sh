#!/bin/sh
# SPDX-License-Identifier: MIT
# While one of several receivers is away its lane fills, and holds who writes to its files: they can be killed, and go on
# when it is back. Files of the others go on meanwhile, fsync(2) of them too.
. tests/tools/mount.sh
. tests/tools/lanes.inc
global='DELIVERMODE = hash
REPLICA = 0'
settings='RINGSIZE = 256K
DRAINTIMEOUT = 30'
lanes 3
for write_mode in direct cached; do
	rules="[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
WRITEMODE = $write_mode"
	start_mount
	for file in $(seq 42); do
		echo first >"$sent/$write_mode$file"
	done
	until_true 30 all_acked || fail "$write_mode: not all is acknowledged"
	down 2
	held=''
	free=''
	for file in $(seq 42); do
		[ -e "$work/r2/senddir/$write_mode$file" ] && held="$held $write_mode$file" || free="$free $write_mode$file"
	done
	# shellcheck disable=SC2086 # words
	set -- $held
	[ $# -gt 2 ] || fail "$write_mode: $# files for receiver 2"
	seq -f "%.0f goes on" 2000000 >>"$sent/$1" &
	waits=$!
	seq -f "%.0f is killed" 2000000 >>"$sent/$2" &
	killed=$!
	full() { [ "$(lane 2 unacked_bytes)" -gt 200000 ]; }
	until_true 30 full || fail "$write_mode: lane 2 has $(lane 2 unacked_bytes) bytes"
	# Its verdict takes the backlog from all rings.
	tells() {
		"$bin/k2hft" stat "$mnt" >"$work/stat" &&
			head -n 1 "$work/stat" | grep -q ": [0-9,]* records of [12] file.* since .*; 1 of 3 receivers is away"
	}
	until_true 20 tells || fail "$write_mode: $(head -n 1 "$work/stat")"
	sleep 0.5
	for file in $free; do
		quick sh -c "seq -f '%.0f second' 3000 >>'$sent/$file' && sync '$sent/$file'" || fail "$write_mode: $file waits"
	done
	for file in $free; do
		{
			echo first
			seq -f "%.0f second" 3000
		} | cmp - "$work"/r[13]/senddir/"$file" || fail "$write_mode: $file did not arrive, though fsync(2) said so"
	done
	gone $waits && fail "$write_mode: the writer does not wait"
	kill -9 $killed
	until_true 10 ended $killed || fail "$write_mode: who waits can't be killed"
	wait $killed 2>/dev/null
	quick stat "$mnt" >/dev/null || fail "$write_mode: the mount hangs"
	up 2
	wait $waits || fail "$write_mode: status $? of the writer that waited"
	until_true 60 all_acked || fail "$write_mode: not all is acknowledged"
	{
		echo first
		seq -f "%.0f goes on" 2000000
	} | cmp - "$work/r2/senddir/$1" || fail "$write_mode: what waited"
	stop_mount || fail "status $? of k2hftfuse"
done
