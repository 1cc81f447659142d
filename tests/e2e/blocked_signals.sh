#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that are started by one that blocks all signals, which they inherit: SIGTERM ends each in good order.
. tests/tools/mount.sh
blocking() {
	exec python3 -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}
port=$((20000 + $$ * 13 % 12000))
while listens $port; do
	port=$((port + 1))
done
receiver_config
blocking "$bin/k2hftfusesvr" -conf "$work/server.ini" 2>>"$work/receiver.err" &
receiver_pid=$!
until_true 20 listens $port || fail "the receiver does not listen"
sender_config
blocking "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
mount_pid=$!
until_true 20 mount_up || fail "the mount does not come"
seq 1000 >"$work/in"
quick cp "$work/in" "$sent/file" || fail "status $? of cp"
arrives "$work/in" senddir/file

mkfifo "$work/pipe"
blocking "$bin/k2hft" push -q -r "127.0.0.1:$port" -t piped "$work/pipe" 2>"$work/push.err" &
push_pid=$!
exec 3>"$work/pipe"
cat "$work/in" >&3
arrives "$work/in" piped
kill "$push_pid"
until_true 20 ended "$push_pid" || {
	kill -9 "$push_pid"
	fail "SIGTERM does not end push"
}
exec 3>&-
wait "$push_pid" || fail "status $? of push: $(cat "$work/push.err")"

kill "$mount_pid"
wait_mount || fail "status $? of k2hftfuse"
kill "$receiver_pid"
until_true 20 ended "$receiver_pid" || fail "SIGTERM does not end the receiver"
wait "$receiver_pid" || fail "status $? of k2hftfusesvr"
receiver_pid=
