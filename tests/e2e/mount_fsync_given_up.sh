#!/bin/sh
# SPDX-License-Identifier: MIT
# fsync(2) waits for room that another process has reserved in the ring. When that gives it back nobody tells the mount,
# which looks by itself, and not only when it is next to ask for what the page cache has.
. tests/tools/mount.sh
settings='FLUSHMS = 10000'
start_receiver
start_mount
quick python3 - "$sent" "$(readlink "$mnt/.k2hft-ring")" "${B:-build}/tests/tools/ring_client" "$received/senddir" <<'END' ||
import os, subprocess, sys, time
sent, ring, client, received = sys.argv[1:]
direct = os.open(sent + "/direct", os.O_WRONLY | os.O_CREAT)
os.write(direct, b"line\n")
os.fsync(direct)
holder = subprocess.Popen([client, ring, "back"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert holder.stdout.readline() == b"held\n"
waiting = subprocess.Popen(["sync", sent + "/direct"])
# No process may begin or end behind it that has it open: closing it has the kernel hand over what it has.
cached = os.open(sent + "/cached", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(cached, b"appended\n")
time.sleep(0.5)
assert waiting.poll() is None, "fsync does not wait for what is reserved"
holder.stdin.close()
assert waiting.wait() == 0, "fsync"
assert not os.path.exists(received + "/cached"), "fsync ended when the page cache was asked"
assert holder.wait() == 0, "ring_client"
END
	fail "fsync"
stop_mount || fail "status $? of k2hftfuse"
printf 'appended\n' | cmp - "$received/senddir/cached" || fail "what was appended"
