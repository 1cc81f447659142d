#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount as the first process of a container serves all who get at it, and ends by SIGTERM. One whose worker would be
# in another namespace of pids than its keeper says so.
. tests/tools/mount.sh
unshare -p -f true 2>/dev/null || skip "unshare not permitted"
start_receiver
sender_config
# In a namespace of pids with another's /proc it finds no threads.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
quick unshare -p "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/said" && fail "status 0"
grep -q 'unshare(1) needs --fork' "$work/said" || fail "no word: $(cat "$work/said")"
! mounted || fail "it is mounted"

# In this namespace of mounts.
unshare -p -f "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
mount_pid=$!
until_true 20 mount_up || fail "the mount does not come"
seq 1 100000 >"$work/in"
quick cp "$work/in" "$sent/direct" || fail cp
quick sh -c "cat '$work/in' >>'$sent/cached'" || fail cat
arrives "$work/in" senddir/direct
arrives "$work/in" senddir/cached
read -r keeper <"/proc/$mount_pid/task/$mount_pid/children"
kill "$keeper"
wait_mount || fail "status $?"
