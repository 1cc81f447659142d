#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that are started by one that ignores SIGCHLD, which they inherit: the mount has another worker when its worker
# is killed, a file that is cut goes on, umount(8) ends it; the benchmark waits for its processes.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
ignoring() {
	exec python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}
start_receiver
sender_config
ignoring "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
mount_pid=$!
until_true 20 mounted || fail "the mount does not come"
until_true 20 another_worker "" || fail "no worker"
kill -9 "$worker"
killed=$worker
until_true 20 another_worker "$killed" || fail "a worker was killed, and no other came"
seq 1000 >"$work/in"
quick cp "$work/in" "$sent/file" || fail "status $? of cp"
quick sh -c "echo 1 >>$sent/cut && truncate -s 0 $sent/cut && echo 2 >>$sent/cut" || fail "status $? of truncate"
printf '1\n2\n' >"$work/cut"
arrives "$work/in" senddir/file
arrives "$work/cut" senddir/cut
stop_mount || fail "status $? of k2hftfuse"
stop_receiver
(ignoring "$(command -v timeout)" 60 "$bin/k2hft" bench -q --by library --size 1024 --bytes 1M --runs 1) >"$work/said" 2>&1 ||
	fail "bench: $(cat "$work/said")"
