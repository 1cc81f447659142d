#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM for a mount whose worker is stopped: it is killed after DRAINTIMEOUT, and another one ends the mount with all that
# was written. If that one is stopped as well, the keeper ends without it.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='DRAINTIMEOUT = 1'
start_receiver
start_mount
quick sh -c "echo one >'$sent/f'" || fail "a write"
until_true 20 worker_of "$mount_pid" || fail "no worker"
kill -STOP "$worker"
quick sh -c "kill -TERM $mount_pid; echo two >>'$sent/f'" 2>/dev/null &
writer=$!
wait_mount || fail "status $? of k2hftfuse"
grep -q 'is stopped or hangs, and has not ended after DRAINTIMEOUT, 1 s: it is killed' "$work/mount.err" || fail "no word of it"
printf 'one\n' >"$work/expected"
! wait "$writer" || printf 'two\n' >>"$work/expected"
same "$work/expected" "$received/senddir/f" || fail "what was written is not there"
stop_receiver

: >"$work/mount.err"
start_mount
quick sh -c "echo three >>'$sent/f'" || fail "a write"
until_true 20 worker_of "$mount_pid" || fail "no worker"
first=$worker
kill -STOP "$first"
kill -TERM "$mount_pid"
until_true 20 another_worker "$first" || fail "no other worker"
kill -STOP "$worker"
wait_mount
status=$?
[ $status = 1 ] || fail "status $status of a mount that ends without its worker"
grep -q 'the mount ends without it' "$work/mount.err" || fail "no word of it"
grep -q 'what is not acknowledged is lost' "$work/mount.err" || fail "no word of what is lost"
! mounted || fail "the mount is still there"
until_true 20 ended "$worker" || fail "the worker outlives its keeper"
