#!/bin/sh
# SPDX-License-Identifier: MIT
# Of starts at once on one directory a single one mounts; the others say that something is mounted there, and have status 1.
. tests/tools/mount.sh
pick_port
sender_config
for round in 1 2 3 4; do
	: >"$work/mount.err"
	for start in 1 2 3 4; do
		(
			quick "$bin/k2hftfuse" "$mnt" -o "conf=$work/slave.ini" 2>>"$work/mount.err"
			echo $? >"$work/status.$start"
		) &
		eval "start_$start=$!"
	done
	# shellcheck disable=SC2154
	wait "$start_1" "$start_2" "$start_3" "$start_4"
	[ "$(cat "$work"/status.? | sort | tr -d '\n')" = 0111 ] || fail "round $round: $(cat "$work"/status.?)"
	[ "$(grep -c " $mnt fuse" /proc/self/mounts)" = 1 ] || fail "mounted $(grep -c " $mnt fuse" /proc/self/mounts) times"
	[ "$(grep -c 'something is mounted there already' "$work/mount.err")" = 3 ] || fail "no word of it"
	mount_pid=$(quick sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$mnt/.k2hft-stat" | head -n 1)
	keeper=$(ps -o ppid= -p "$mount_pid" | tr -d ' ')
	quick umount "$mnt" 2>/dev/null || quick fusermount3 -u "$mnt" || fail "cannot be unmounted"
	until_true 60 ended "$keeper" || fail "the mount does not end"
	mount_pid=
done
