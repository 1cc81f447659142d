#!/bin/sh
# SPDX-License-Identifier: MIT
# Signals for a mount: SIGTERM to its keeper, or to its whole group, drains and ends, also when the worker dies then; a
# worker does not heed others, is replaced when it dies, and does not outlive its keeper.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
start_receiver
start_mount
until_true 20 worker_of "$mount_pid" || fail "no worker"
first=$worker
quick sh -c "echo one >'$sent/f'" || fail "a write"
kill -TERM "$first"
quick sh -c "echo two >>'$sent/f'" || fail "a write after a signal to the worker"
gone "$first" && fail "the worker heeds signals of anybody"
ring=$(quick readlink "$mnt/.k2hft-ring") || fail "the ring's link"
kill -ABRT "$first" # sanitizers have a handler for SEGV
until_true 20 another_worker "$first" || fail "no other worker"
quick sh -c "echo three >>'$sent/f'" || fail "a write to the other worker"
[ "$(quick readlink "$mnt/.k2hft-ring")" = "$ring" ] || fail "the ring is elsewhere"
grep -q 'the worker died' "$work/mount.err" || fail "no word of the worker's death"
worker_of "$mount_pid"
kill -STOP "$worker"
kill -TERM "$worker" "$mount_pid" # the first is still pending when the second is forwarded
until_true 20 has_heard "$mount_pid" || fail "the keeper does not take a signal"
kill -CONT "$worker"
wait_mount || fail "status $? of k2hftfuse"
grep -q 'everything is acknowledged' "$work/mount.err" || fail "not drained"
! grep -q 'not waiting any longer' "$work/mount.err" || fail "two signals counted"
printf 'one\ntwo\nthree\n' | cmp - "$received/senddir/f" || fail "what was written"

start_mount
until_true 20 worker_of "$mount_pid" || fail "no worker"
kill -STOP "$worker"
kill -TERM "$mount_pid"
until_true 20 has_heard "$mount_pid" || fail "the keeper does not take a signal"
kill -9 "$worker"
wait_mount || fail "status $? of k2hftfuse whose worker died with the order to end"

start_mount
until_true 20 worker_of "$mount_pid" || fail "no worker"
kill -9 "$mount_pid"
wait "$mount_pid" 2>/dev/null
until_true 20 gone "$worker" || fail "the worker outlives its keeper"
quick ls "$sent" 2>/dev/null && fail "a mount without server answers"
# Root begins anew without further ado, as a unit does.
[ "$(id -u)" = 0 ] || fusermount3 -u -z "$mnt"
start_mount
# The kernel's memory of the old one is no sign of the new one.
until_true 20 quick grep -qs '"pid"' "$mnt/.k2hft-stat" || fail "the new mount does not come"
quick sh -c "echo four >>'$sent/f'" || fail "a new mount"
stop_mount || fail "status $? of the new mount"
