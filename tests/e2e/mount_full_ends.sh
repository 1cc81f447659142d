#!/bin/sh
# SPDX-License-Identifier: MIT
# RINGFULL = drop: of a long line the begin is sent, the rest finds no room, and its file is closed before there is room
# again. The line ends there nevertheless, whoever has its file next and whatever happens to the worker or the name.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='RINGSIZE = 1M
RINGFULL = drop
LINEMAX = 65536'
echo >"$work/end"
start_receiver
stop_receiver
fixed_port=yes
start_mount

# tear HOW NAME: a line of 17 pieces in a ring for 16.
tear() {
	quick python3 - "$1" "$sent/$2" <<'END' || fail "$2 can't be written"
import os, sys
way, path = sys.argv[1:]
file = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if way == "cached" else 0))
for _ in range(16):
    os.write(file, b"L" * 65536)
os.write(file, b"E" * 65500 + b"\n")
os.close(file)
END
}

for way in direct cached; do
	tear $way "$way"
	worker_of "$mount_pid" || fail "no worker"
	kill -9 "$worker"
	quick mv "$sent/$way" "$sent/$way.old" || fail "$way: mv"
	start_receiver
	quick sync "$sent/$way.old" || fail "$way: sync"
	echo "other $way" >>"$sent/other"
	echo "next $way" >>"$sent/$way"
	quick sync "$sent/$way" || fail "$way: sync of the next"
	stop_receiver
	head -n 1 "$received/senddir/$way" | tr -d L | cmp - "$work/end" || fail "$way: its begin"
	[ "$(wc -l <"$received/senddir/$way")" = 2 ] || fail "$way: $(wc -l <"$received/senddir/$way") lines"
	[ "$(tail -n 1 "$received/senddir/$way")" = "next $way" ] || fail "$way: its second line"
done
start_receiver
stop_mount || fail "status $? of k2hftfuse"
printf 'other direct\nother cached\n' | cmp - "$received/senddir/other" || fail "the other file"
