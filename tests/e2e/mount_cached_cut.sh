#!/bin/sh
# SPDX-License-Identifier: MIT
# Writers append through the page cache while others cut the file, by O_TRUNC, ftruncate(2) and logrotate's copytruncate,
# and the worker is killed: no line is lost, none comes twice, each writer's are in order.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
start_receiver
start_mount
cat >"$work/append.py" <<'END'
import os, sys
path, name = sys.argv[1:]
descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
number = 0
while number < 2000 or not os.path.exists(sys.argv[1].replace("/mnt/senddir/", "/") + ".stop"):
    for _ in range(50):
        os.write(descriptor, b"%s %d\n" % (name.encode(), number))
        number += 1
    os.fstat(descriptor)
os.close(descriptor)
END
# cut_while_appending NAME COMMAND...: two writers append to NAME, COMMAND cuts it 60 times.
cut_while_appending() {
	file=$sent/$1
	name=$1
	shift
	quick python3 "$work/append.py" "$file" one &
	one=$!
	quick python3 "$work/append.py" "$file" two &
	two=$!
	until_true 20 test -s "$received/senddir/$name" || fail "$name: nothing arrives"
	for round in $(seq 60); do
		quick "$@" "$file" || fail "$*, round $round"
	done
	: >"$work/$name.stop"
	wait $one || fail "a writer of $name failed"
	wait $two || fail "a writer of $name failed"
	printf 'end\n' >>"$file"
	check() { tail -n 1 "$received/senddir/$name" | grep -q '^end$'; }
	until_true 30 check || fail "$name: the end does not arrive"
	for writer in one two; do
		grep -a "^$writer " "$received/senddir/$name" >"$work/got"
		seq -f "$writer %.0f" 0 $(($(wc -l <"$work/got") - 1)) | cmp - "$work/got" || fail "$name: lines of $writer"
		[ "$(wc -l <"$work/got")" -ge 2000 ] || fail "$name: too few lines of $writer"
	done
	grep -a -v '^one [0-9]*$\|^two [0-9]*$\|^end$' "$received/senddir/$name" && fail "$name: another line"
}
# shellcheck disable=SC2016
cut_while_appending opened sh -c ': >"$1"' sh
cut_while_appending truncated truncate -s 0
cut_while_appending grown truncate -s 5
start_killing 0.2
cut_while_appending killed truncate -s 0
# shellcheck disable=SC2016
cut_while_appending killed_open sh -c ': >"$1"' sh
stop_killing 1
stop_mount || fail "status $? of k2hftfuse"

# Somebody has pages of the file dropped and read again meanwhile.
cat >"$work/read_again.py" <<'END'
import os, sys
path, parent = sys.argv[1], os.getppid()
while not os.path.exists(path):
    pass
descriptor = os.open(path, os.O_RDONLY)
while os.getppid() == parent:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(descriptor, 0, 65536, os.POSIX_FADV_WILLNEED)
END
start_mount
python3 "$work/read_again.py" "$sent/again" &
again=$!
cut_while_appending again truncate -s 0
kill -9 $again
wait $again 2>/dev/null
stop_mount || fail "status $? of k2hftfuse"

# Data that was written a moment before and that nobody has seen yet.
start_mount
quick python3 - "$sent/moment" <<'END' || fail "a moment before"
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(500):
    os.write(descriptor, b"line %d\n" % number)
    if number % 3 == 0:
        os.truncate(sys.argv[1], 0)
    elif number % 3 == 1:
        os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC))
    assert number % 3 == 2 or os.fstat(descriptor).st_size == 0, os.fstat(descriptor)
END
stop_mount || fail "status $? of k2hftfuse"
seq -f 'line %.0f' 0 499 | cmp - "$received/senddir/moment" || fail "a moment before"

# Zeros behind a cut, which can be a page that was read again, are a line as well, and the next cut waits for nothing else.
start_mount
quick python3 - "$sent/zeros" <<'END' || fail "zeros"
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(descriptor, b"line\n")
for _ in range(3):
    os.truncate(sys.argv[1], 0)
    os.write(descriptor, bytes(16) + b"\n")
END
stop_mount || fail "status $? of k2hftfuse"
printf 'line\n%s\n%s\n%s\n' 0000000000000000 0000000000000000 0000000000000000 | tr 0 '\0' |
	cmp - "$received/senddir/zeros" || fail "zeros"

# Somebody reads pages of the file, which the kernel keeps locked until the READ is answered, while it is cut.
start_mount
cat >"$work/read.py" <<'END'
import os, sys, time
with open(sys.argv[1], "ab") as file:
    file.write(b"0123456789abcde\n" * 512)
cutter = os.getpid()
reader = os.fork()
if reader == 0:
    descriptor = os.open(sys.argv[1], os.O_RDONLY)
    while os.getppid() == cutter:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(descriptor, 0, 8192, os.POSIX_FADV_WILLNEED)
    os._exit(0)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    os.truncate(sys.argv[1], 100)
    os.truncate(sys.argv[1], 8192)
os.kill(reader, 9)
os.waitpid(reader, 0)
END
# Nothing ends what waits for a mount that does not answer.
# cut_while_reading SECONDS
cut_while_reading() {
	python3 "$work/read.py" "$sent/read" "$1" &
	cutter=$!
	until_true 60 gone $cutter || fail "the mount does not answer"
	wait $cutter || fail "cut while it is read"
}
cut_while_reading 2
start_killing 0.1
cut_while_reading 8
stop_killing 1
printf 'end\n' >>"$sent/read"
ended() { tail -n 1 "$received/senddir/read" | grep -q '^end$'; }
until_true 30 ended || fail "the end does not arrive"
stop_mount || fail "status $? of k2hftfuse"

# Data behind a hole of a file in the page cache was written before the cut, too.
settings='FLUSHMS = 2000'
start_mount
quick python3 - "$sent/hole" <<'END' || fail "a hole"
import ctypes, fcntl, os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(file, b"." * 4095 + b"\n")
fcntl.fcntl(file, fcntl.F_SETFL, 0)
os.lseek(file, 1 << 20, 0)
os.write(file, b"behind\n")
# The kernel writes its pages back (SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER).
assert ctypes.CDLL(None).sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), 7) == 0
os.ftruncate(file, 0)
END
stop_mount || fail "status $? of k2hftfuse"
[ "$(tail -n 1 "$received/senddir/hole")" = behind ] || fail "what follows a hole is lost with the cut"
