#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that are started without standard input, output and error: no file, socket or ring gets a message in its
# place, and a mount in the background starts.
. tests/tools/mount.sh
seq 1 100000 >"$work/in"
pick_port
receiver_config
"$bin/k2hftfusesvr" -conf "$work/server.ini" <&- >&- 2>&- &
receiver_pid=$!
until_true 20 receiver_up || fail "the receiver does not listen"
gone "$receiver_pid" && fail "the receiver does not start"
for number in 0 1 2; do
	[ "$(readlink "/proc/$receiver_pid/fd/$number")" = /dev/null ] || fail "the receiver uses descriptor $number"
done

quick "$bin/k2hft" push -r "127.0.0.1:$port" -t pushed "$work/in" <&- >&- 2>&- || fail "status $? of push"
arrives "$work/in" pushed
# There is nothing to read, which is no empty input.
quick "$bin/k2hft" push -r "127.0.0.1:$port" -t nothing <&- 2>"$work/said" && fail "push of a closed standard input"
grep -q 'Bad file descriptor' "$work/said" || fail "$(cat "$work/said")"

sender_config
quick "$bin/k2hftfuse" "$mnt" -o "conf=$work/slave.ini" <&- >&- 2>&- || fail "status $? of k2hftfuse"
mounted || fail "it returned before the mount was there"
mount_pid=$(pgrep -f -- "$bin/k2hftfuse $mnt -o conf=" | head -n 1)
cat "$work/in" >"$sent/file"
arrives "$work/in" senddir/file
quick umount "$mnt" 2>/dev/null || quick fusermount3 -u "$mnt" || fail umount
until_true 20 gone "$mount_pid" || fail "the server does not end"
mount_pid=
kill "$receiver_pid"
wait "$receiver_pid" || fail "status $? of the receiver"
receiver_pid=
