#!/bin/sh
# SPDX-License-Identifier: MIT
# A signal ends the mount while programs append to its files: what write(2) has accepted arrives, and the next one fails.
. tests/tools/mount.sh
start_receiver
start_mount
cat >"$work/append.py" <<'END'
import errno, os, sys, time
path, counted = sys.argv[1:]
descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
accepted = 0
try:
    while True:
        os.write(descriptor, b"line %d\n" % accepted)
        accepted += 1
        time.sleep(0.002)
except OSError as error:
    # After the end of the server there is nobody to say the first.
    if error.errno not in (errno.ECONNABORTED, errno.ENOTCONN):
        raise
with open(counted + ".new", "w") as file:
    print(accepted, file=file)
os.rename(counted + ".new", counted)
END
for signal in TERM HUP; do
	[ -n "$mount_pid" ] || start_mount
	writers=
	for file in a b c; do
		timeout 60 python3 "$work/append.py" "$sent/$signal.$file" "$work/$signal.$file" &
		writers="$writers $!"
	done
	for file in a b c; do
		until_true 20 test -s "$received/senddir/$signal.$file" || fail "nothing arrives"
	done
	kill -$signal "$mount_pid"
	wait_mount || fail "status $? of k2hftfuse"
	for writer in $writers; do
		wait "$writer" || fail "a writer gets another error"
	done
	for file in a b c; do
		seq -f 'line %.0f' 0 $(($(cat "$work/$signal.$file") - 1)) >"$work/expected"
		cmp "$work/expected" "$received/senddir/$signal.$file" || fail "$signal: lines that were accepted are missing"
	done
done
