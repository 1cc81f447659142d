#!/bin/sh
# SPDX-License-Identifier: MIT
# Of mounts that are started at once with one ring file, a single one gets it, and nothing that is written to it is lost.
. tests/tools/mount.sh
mkdir "$work/mnt1" "$work/mnt2"
start_receiver
settings="K2HTYPE = file
K2HFILE = $work/ring"
sender_config

started() {
	[ "$(grep -c " $work/mnt[12]* fuse" /proc/self/mounts)" = 1 ] &&
		[ "$(grep -c 'another process sends from this file' "$work/mount.err")" = 2 ]
}

for round in 1 2 3 4 5 6; do
	: >"$work/mount.err"
	pids=
	for place in "$mnt" "$work/mnt1" "$work/mnt2"; do
		"$bin/k2hftfuse" "$place" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
		pids="$pids $!"
	done
	until_true 20 started || fail "not one mount in round $round: $(grep -c " $work/mnt" /proc/self/mounts)"
	place=$(sed -n "s|^[^ ]* \($work/mnt[12]*\) fuse.*|\1|p" /proc/self/mounts)
	quick sh -c "seq 50 >>'$place/senddir/f'" || fail "a write"
	quick umount "$place" 2>/dev/null || quick fusermount3 -u "$place" || fail "cannot be unmounted"
	well=0
	for pid in $pids; do
		wait "$pid" && well=$((well + 1))
	done
	[ $well = 1 ] || fail "$well ended well"
	seq 50 >>"$work/expected"
	arrives "$work/expected" senddir/f
done
