#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that is started at the moment at which the one before is killed takes its place, and its ring; or it says that a
# mount is there still.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] || skip "only root may unmount what is dead"
settings="K2HTYPE = file
K2HINIT = no
RINGSIZE = 64K
K2HFILE = $work/ring"
start_receiver
start_mount
# A worker can have answered just before it dies.
restarts() {
	"$bin/k2hftfuse" "$mnt" -o "conf=$work/slave.ini" 2>"$work/again.err" && return
	grep -q 'something is mounted there already' "$work/again.err" || fail "round $round: $(cat "$work/again.err")"
	false
}
keeper=$mount_pid
for round in 1 2 3 4 5 6 7 8; do
	kill -9 "$keeper"
	until_true 20 restarts || fail "round $round: no mount"
	[ "$round" != 1 ] || wait_mount 2>/dev/null
	keeper=$(quick sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$mnt/.k2hft-stat" | head -n 1)
	keeper=$(ps -o ppid= -p "$keeper" | tr -d ' ')
	quick sh -c "echo $round >>'$sent/f'" || fail "round $round: a write"
	echo "$round" >>"$work/expected"
done
quick umount "$mnt" || fail "cannot be unmounted"
until_true 60 ended "$keeper" || fail "the mount does not end"
same "$work/expected" "$received/senddir/f" || fail "what arrived"
