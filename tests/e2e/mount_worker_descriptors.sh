#!/bin/sh
# SPDX-License-Identifier: MIT
# A limit of open files that comes while a worker runs, and is below what it waits for: it says so and another one serves,
# or, if that can't begin either, the mount ends with an error. None spins.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
command -v prlimit >/dev/null || skip "no prlimit"
# LeakSanitizer has no descriptor for its report then, and does not end.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
start_receiver
start_mount
quick sh -c "echo one >'$sent/f'" || fail "a write"
worker_of "$mount_pid" || fail "no worker"
prlimit --pid "$worker" --nofile=3:3 || fail prlimit
quick sh -c "echo two >>'$sent/f'" || fail "a write to the next worker"
said="mount: can't wait for requests: the limit of open files is below 4: raise LimitNOFILE= or ulimit -n"
grep -q "$said" "$work/mount.err" || fail "no word of the limit"
printf 'one\ntwo\n' >"$work/expected"
arrives "$work/expected" senddir/f

worker_of "$mount_pid" || fail "no next worker"
prlimit --pid "$mount_pid" --nofile=3:3 || fail prlimit
prlimit --pid "$worker" --nofile=3:3 || fail prlimit
quick sh -c "echo three >>'$sent/f'" && fail "a write without a worker"
wait_mount && fail "status 0"
grep -q "mount: $mnt ends: 20 workers in a row failed soon" "$work/mount.err" || fail "no word at the end"
