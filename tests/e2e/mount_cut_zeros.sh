#!/bin/sh
# SPDX-License-Identifier: MIT
# Data that is appended after a cut begins with zeros, as the pages do that were read again before it: only what the kernel writes
# back tells that it is new. That is not waited for until the kernel does so by itself, half a minute later, neither to send
# it nor to end.
. tests/tools/mount.sh
start_receiver
cat >"$work/cut.py" <<'END'
import os, sys, time
parent = os.getppid()
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(descriptor, b"line\n")
os.ftruncate(descriptor, 0)
os.write(descriptor, bytes(16) + b"\n")
print(flush=True)
while os.getppid() == parent:
    time.sleep(0.1)
END
# A line, a cut, zeros; and the file stays open.
begin() {
	start_mount
	python3 "$work/cut.py" "$sent/$1" >"$work/$1.out" &
	writer=$!
	until_true 20 test -s "$work/$1.out" || fail "$1 is not written"
}
end() {
	kill $writer
	wait $writer 2>/dev/null
}
printf 'line\n%s\n' 0000000000000000 | tr 0 '\0' >"$work/expected"

begin open
arrives "$work/expected" senddir/open 20
end
stop_mount || fail "status $? of k2hftfuse"

begin ends
kill -TERM $mount_pid
until_true 20 gone $mount_pid || fail "k2hftfuse does not end"
wait_mount || fail "status $? of k2hftfuse"
end
cmp "$work/expected" "$received/senddir/ends" || fail "what was written did not arrive"
