#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount and a receiver that are the first process of a container get the orphans of the others as children: when those
# have ended, nothing is left of them.
. tests/tools/mount.sh
if ! unshare -p -f --kill-child true 2>/dev/null || ! command -v nsenter >/dev/null; then
	skip "no unshare or nsenter, or not permitted"
fi
# In a namespace of pids with another's /proc it finds no threads.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"

# The states of a process's children.
zombies() {
	# shellcheck disable=SC2013 # words
	for child in $(cat "/proc/$1/task/$1/children"); do
		grep -q '^State:[[:space:]]*Z' "/proc/$child/status" 2>/dev/null && return 0
	done
	return 1
}

alone() { ! zombies "$1"; }

# Orphans, and one more when they have ended, whose end nothing else follows.
orphans() {
	for number in 1 2 3; do
		nsenter -t "$1" -p sh -c "(sleep 0.1; exit $number) & exit 0" || fail nsenter
	done
	sleep 0.3
	until_true 20 alone "$1" || fail "orphans are left"
}

port=$((20000 + $$ * 13 % 12000))
while listens $port; do
	port=$((port + 1))
done
receiver_config
unshare -p -f --kill-child "$bin/k2hftfusesvr" -conf "$work/server.ini" 2>>"$work/receiver.err" &
receiver_pid=$!
until_true 20 listens $port || fail "the receiver does not listen"
read -r receiver <"/proc/$receiver_pid/task/$receiver_pid/children"
orphans "$receiver"

sender_config
unshare -p -f --kill-child "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
mount_pid=$!
until_true 20 mount_up || fail "the mount does not come"
read -r keeper <"/proc/$mount_pid/task/$mount_pid/children"
orphans "$keeper"
seq 1 100000 >"$work/in"
quick cp "$work/in" "$sent/f" || fail cp
arrives "$work/in" senddir/f
kill "$keeper"
wait_mount || fail "status $? of k2hftfuse"
kill "$receiver"
wait "$receiver_pid" || fail "status $? of k2hftfusesvr"
receiver_pid=
