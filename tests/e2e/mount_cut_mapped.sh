#!/bin/sh
# SPDX-License-Identifier: MIT
# Somebody maps a file while it is being cut: the kernel holds its page until that is written back, and writes nothing back
# until the cut has its answer. Both end, and every line arrives.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='FLUSHMS = 2000'
start_receiver
start_mount
until_true 20 worker_of "$mount_pid" || fail "no worker"
yes 'a line' | head -n 100 >"$work/in"
quick python3 - "$sent/f" "$work/in" "$worker" <<'END' || fail "cut"
import ctypes, os, signal, sys, time
path, lines, worker = sys.argv[1], open(sys.argv[2], "rb").read(), int(sys.argv[3])
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
PROT_READ, MAP_PRIVATE = 1, 2


def waiting(function, *arguments):
    """A process that does this, when it waits in the kernel."""
    process = os.fork()
    if process == 0:
        function(*arguments)
        os._exit(0)
    while open(f"/proc/{process}/syscall").read().split()[0] in ("running", "-1"):
        time.sleep(0.01)
    return process


def map_and_unmap(file):
    """Whoever reads its /proc/PID/environ meanwhile, as tests/run does, waits for the mmap, and then has its memory for
    longer than the process itself: with the mapping in it the mount would be busy."""
    size = ctypes.c_size_t(1)
    place = libc.mmap(None, size, PROT_READ, MAP_PRIVATE, file, ctypes.c_long(0))
    assert libc.munmap(ctypes.c_void_p(place), size) == 0


writer = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
reader = os.open(path, os.O_RDONLY)
os.write(writer, lines)
os.kill(worker, signal.SIGSTOP)
cutter = waiting(os.ftruncate, writer, 0)
mapper = waiting(map_and_unmap, reader)
os.kill(worker, signal.SIGCONT)
for process in (cutter, mapper):
    assert os.waitpid(process, 0)[1] == 0
os.write(writer, lines)
END
cat "$work/in" "$work/in" >"$work/both"
arrives "$work/both" senddir/f
stop_mount || fail "status $? of k2hftfuse"
