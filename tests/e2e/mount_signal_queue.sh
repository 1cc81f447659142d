#!/bin/sh
# SPDX-License-Identifier: MIT
# The order to end reaches the worker also when it can't be queued at first, since the user has as many signals queued as
# the system lets him.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
command -v prlimit >/dev/null || skip "no prlimit"
start_receiver
start_mount
worker_of "$mount_pid" || fail "no worker"
prlimit --pid "$worker" --sigpending=0: || fail prlimit
kill "$mount_pid"
sleep 1
gone "$mount_pid" && fail "the limit is none"
prlimit --pid "$worker" --sigpending=1000: || fail prlimit
wait_mount || fail "status $? of k2hftfuse"
