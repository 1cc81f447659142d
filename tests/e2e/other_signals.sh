#!/bin/sh
# SPDX-License-Identifier: MIT
# Signals that nobody sends to end a program do not end the keeper of a mount, its worker, the receiver or push; SIGQUIT ends
# each in good order, with all that it has.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
start_receiver
start_mount
until_true 20 worker_of "$mount_pid" || fail "no worker"
mkfifo "$work/pipe"
"$bin/k2hft" push -q -r "127.0.0.1:$port" -t piped "$work/pipe" 2>"$work/push.err" &
push_pid=$!
exec 3>"$work/pipe"
echo one >&3
echo one | quick tee "$sent/f" >"$work/one"
arrives "$work/one" piped
arrives "$work/one" senddir/f
for signal in ALRM VTALRM PROF IO PWR USR1 USR2 XCPU XFSZ TRAP SYS 34 50 64; do
	for pid in "$mount_pid" "$worker" "$receiver_pid" "$push_pid"; do
		[ "$pid $signal" = "$worker 34" ] || kill -"$signal" "$pid" || fail "no process $pid before $signal"
	done
done
echo two >&3
printf 'one\ntwo\n' >"$work/two"
echo two | quick tee -a "$sent/f" >/dev/null || fail "a write"
arrives "$work/two" piped
arrives "$work/two" senddir/f
[ ! -s "$work/push.err" ] || fail "$(cat "$work/push.err")"
! grep -q died "$work/mount.err" || fail "a worker died"

echo three >&3
echo three | quick tee -a "$sent/f" >/dev/null || fail "a write"
kill -QUIT "$push_pid" "$mount_pid"
wait "$push_pid" || fail "status $? of push: $(cat "$work/push.err")"
exec 3>&-
wait_mount || fail "status $? of k2hftfuse"
grep -q 'everything is acknowledged' "$work/mount.err" || fail "the mount has not drained"
kill -QUIT "$receiver_pid"
wait "$receiver_pid" || fail "status $? of the receiver"
receiver_pid=
echo three >>"$work/two"
same "$work/two" "$received/senddir/f" || fail "the mount's records"
