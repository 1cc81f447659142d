#!/bin/sh
# SPDX-License-Identifier: MIT
# The worker is killed while a process of its writes the mark of a cut, which a library in front of libc makes late, and
# which outlives it, as one does that waits for a page: what is appended after the cut has nothing of that mark.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/prctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nobody is killed when his parent dies. */
int prctl(int option, unsigned long argument)
{
	return option == PR_SET_PDEATHSIG ? 0 : (int)syscall(SYS_prctl, option, argument, 0, 0, 0);
}

/* That process has the mount as its standard input. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), words[6], status;
	va_list arguments;
	int late;

	va_start(arguments, number);
	for (int at = 0; at < 6; at++)
		words[at] = va_arg(arguments, long);
	va_end(arguments);
	late = number == SYS_writev && words[0] == STDIN_FILENO && rename(getenv("LATE"), getenv("WAITING")) == 0;
	if (late)
		sleep(1);
	status = real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (late)
		(void)unlink(getenv("WAITING"));
	return status;
}
END
settings='FLUSHMS = 2000'
start_receiver
export LD_PRELOAD="$preload" LATE="$work/late" WAITING="$work/waiting"
start_mount
unset LD_PRELOAD
worker_of "$mount_pid" || fail "no worker"
yes 'a line before' | head -n 100 >"$work/in"
quick python3 - "$sent/f" "$work/in" "$LATE" "$WAITING" "$worker" <<'END' || fail "cut"
import os, sys, time
path, lines, late, waiting, worker = sys.argv[1:]
lines = open(lines, "rb").read()
file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(file, lines)
os.fsync(file)
os.close(os.open(late, os.O_WRONLY | os.O_CREAT))
writer = os.fork()
if writer == 0:
    os.truncate(path, 0)
    os.write(file, lines)
    # A close of the file makes the kernel hand it over.
    while os.path.exists(waiting):
        time.sleep(0.01)
    os._exit(0)
while not os.path.exists(waiting):
    time.sleep(0.01)
os.kill(int(worker), 9)
assert os.waitpid(writer, 0)[1] == 0
END
cat "$work/in" "$work/in" >"$work/both"
arrives "$work/both" senddir/f
stop_mount || fail "status $? of k2hftfuse"
