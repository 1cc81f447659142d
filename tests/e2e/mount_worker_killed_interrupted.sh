#!/bin/sh
# SPDX-License-Identifier: MIT
# A writer and an fsync(2) wait for the receiver, and are killed while the worker does not listen; then it dies, too. The
# next one hears of it, and both end.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='RINGSIZE = 1M
DRAINTIMEOUT = 1'
pick_port
start_mount
quick sh -c "echo x >'$sent/synced'" || fail "a line"
sync "$sent/synced" &
syncing=$!
yes >"$sent/blocked" &
writing=$!
worker_of "$mount_pid" || fail "no worker"
first=$worker
until_true 20 ring_full 130 || fail "the ring does not fill"
kill -STOP "$first"
kill -9 $syncing $writing
in_the_kernel() { grep -q '^State:[[:space:]]*D' "/proc/$syncing/status" && grep -q '^State:[[:space:]]*D' "/proc/$writing/status"; }
until_true 10 in_the_kernel || echo "whether they wait can't be seen here"
kill -9 "$first"
until_true 20 another_worker "$first" || fail "no other worker"
until_true 20 ended $writing || fail "the writer can't be killed"
until_true 20 ended $syncing || fail "fsync(2) can't be killed"
wait $syncing $writing 2>/dev/null
quick stat -f "$mnt" >/dev/null || fail "the mount"
