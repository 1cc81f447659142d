#!/bin/sh
# SPDX-License-Identifier: MIT
# DELIVERMODE = hash: each file goes whole and in order to one receiver, all of them get some, and where a file went it goes
# again; also if the worker is killed meanwhile.
. tests/tools/mount.sh
. tests/tools/lanes.inc
settings='RINGSIZE = 256K
DRAINTIMEOUT = 30'
lanes 4
start_mount
mkdir "$work/written"
for file in $(seq 90); do
	seq -f "$file %.0f line" 400 >"$work/written/$file"
done
write_all() {
	for file in $(seq 90); do
		[ $((file % 15)) != 7 ] || kill -9 "$(pgrep -P "$mount_pid")"
		cat "$work/written/$file" >>"$sent/$file" || return 1
	done
}
write_all || fail "writing"
until_true 30 all_acked || fail "not all is acknowledged"
for file in $(seq 90); do
	set -- "$work"/r*/senddir/"$file"
	[ $# = 1 ] || fail "$# receivers have $file"
	cmp "$work/written/$file" "$1" || fail "$file"
done
for number in 1 2 3 4; do
	set -- "$work/r$number"/senddir/*
	[ $# -gt 4 ] || fail "receiver $number has $# of 90 files"
	[ "$(lane "$number" acked_records)" = $(($# * 400)) ] || fail "records of lane $number"
done
stop_mount || fail "status $? of k2hftfuse"
