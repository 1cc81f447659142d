#!/bin/sh
# SPDX-License-Identifier: MIT
# logrotate with create and HUP on the mount: a daemon's lines all arrive in the file's stream, before and after.
. tests/tools/mount.sh
PATH=$PATH:/usr/sbin:/sbin
command -v logrotate >/dev/null || skip "no logrotate"
start_receiver
start_mount
cat >"$work/daemon.py" <<'END'
import os, signal, sys, time
path, count = sys.argv[1], 0
log = open(path, "a", buffering=1)
hups = []
signal.signal(signal.SIGHUP, lambda *_: hups.append(1))
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
open(sys.argv[2], "w").write(str(os.getpid()))
while not stop:
    log.write(f"line {count}\n")
    count += 1
    if hups:
        hups.clear()
        log.close()
        log = open(path, "a", buffering=1)
        open(sys.argv[2] + ".reopened", "w").close()
    time.sleep(0.0005)
log.close()
END
timeout 100 python3 "$work/daemon.py" "$sent/app.log" "$work/daemon.pid" &
daemon=$!
until_true 10 test -s "$work/daemon.pid" || fail "the daemon does not start"
until_true 10 test -s "$received/senddir/app.log" || fail "nothing arrives"
cat >"$work/rotate.conf" <<END
$sent/app.log {
	rotate 2
	create 0640 $(id -un) $(id -gn)
	postrotate
		kill -HUP \$(cat $work/daemon.pid)
	endscript
}
END
chmod 600 "$work/rotate.conf"
for round in 1 2 3; do
	quick logrotate -f -s "$work/rotate.state" "$work/rotate.conf" || fail "logrotate, round $round"
	until_true 10 test -e "$work/daemon.pid.reopened" || fail "the daemon did not open its file again"
	rm "$work/daemon.pid.reopened"
	[ -e "$sent/app.log" ] || fail "round $round: $(ls "$sent")"
	[ -e "$sent/app.log.1" ] || fail "round $round: $(ls "$sent")"
	[ "$(stat -c %a "$sent/app.log")" = 640 ] || fail "the new file has mode $(stat -c %a "$sent/app.log")"
done
[ "$(quick ls "$sent" | tr '\n' ' ')" = "app.log app.log.1 app.log.2 " ] || fail "left: $(ls "$sent")"
kill "$(cat "$work/daemon.pid")"
wait $daemon
stop_mount || fail "status $? of k2hftfuse"
count=$(wc -l <"$received/senddir/app.log")
[ "$count" -gt 10 ] || fail "only $count lines"
seq -f 'line %.0f' 0 $((count - 1)) | cmp - "$received/senddir/app.log" || fail "lines are missing or out of order"
[ "$(find "$received/senddir" -type f | wc -l)" = 1 ] || fail "rotated files became streams"
