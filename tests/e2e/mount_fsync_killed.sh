#!/bin/sh
# SPDX-License-Identifier: MIT
# While fsync(2) of a log waits for the receiver, another program that appends to the log waits, too, and can be killed; so
# can who called fsync(2). Who called it starts other programs.
. tests/tools/mount.sh
start_receiver
start_mount
echo first >>"$sent/f"
quick sync "$sent/f" || fail "sync"
kill -STOP "$receiver_pid"
cat >"$work/sync.py" <<'END'
import os, subprocess, sys, threading
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
os.write(log, b"second\n")
threading.Thread(target=lambda: [print(flush=True) for _ in sys.stdin if subprocess.run(["/bin/true"]).returncode == 0],
                 daemon=True).start()
os.fsync(log)
END
mkfifo "$work/orders"
python3 "$work/sync.py" "$sent/f" <"$work/orders" >"$work/done" &
syncs=$!
exec 3>"$work/orders"
comes_to_wait $syncs
gone $syncs && fail "fsync does not wait"
sh -c "exec 3>&-; echo third >>'$sent/f'" &
appends=$!
comes_to_wait $appends
gone $appends && fail "who appends does not wait"
kill -9 $appends
until_true 20 ended $appends || fail "a killed appender stays"
wait $appends 2>/dev/null
echo >&3
until_true 20 test -s "$work/done" || fail "a child does not start"
kill -9 $syncs
exec 3>&-
until_true 20 ended $syncs || fail "who called fsync stays"
wait $syncs 2>/dev/null
kill -CONT "$receiver_pid"
stop_mount || fail "status $? of k2hftfuse"
printf 'first\nsecond\n' | cmp - "$received/senddir/f" || fail "what arrived"
