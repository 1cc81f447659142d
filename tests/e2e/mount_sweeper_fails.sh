#!/bin/sh
# SPDX-License-Identifier: MIT
# A sweeper that can't begin, which a library in front of libc makes of it by failing close_range(2), is not started over and
# over, and nobody waits for it. One that can't be forked is there as soon as it can.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *variable)
{
	const char *path = getenv(variable);
	int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (file < 0)
		return 0;
	(void)!write(file, "failed\n", 7);
	(void)close(file);
	return 1;
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), words[6];
	va_list arguments;

	va_start(arguments, number);
	for (int at = 0; at < 6; at++)
		words[at] = va_arg(arguments, long);
	va_end(arguments);
	errno = ENOSYS;
	if (number == SYS_close_range && fails("FAIL_CLOSE_RANGE"))
		return -1;
	return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	errno = EAGAIN;
	return fails("FAIL_FORK") ? -1 : real();
}
END
start_failing_mount() {
	LD_PRELOAD=$preload FAIL_CLOSE_RANGE=$work/close_range FAIL_FORK=$work/fork
	export LD_PRELOAD FAIL_CLOSE_RANGE FAIL_FORK
	start_mount
	unset LD_PRELOAD FAIL_CLOSE_RANGE FAIL_FORK
}
# append NAME: what is to be swept when it is closed.
append() {
	quick sh -c "head -c 3000000 /dev/zero | tr '\\0' '\\n' | tee -a '$work/$1' >>'$sent/$1'" || fail "a write to $1"
}
said() {
	grep -q 'there can be no sweeper here' "$work/mount.err"
}
failed() {
	[ -s "$work/fork" ]
}

start_receiver
: >"$work/close_range"
start_failing_mount
until_true 20 said || fail "no word of it"
append first
append first
arrives "$work/first" senddir/first
stop_mount || fail "status $? of k2hftfuse"
[ "$(wc -l <"$work/close_range")" = 1 ] || fail "$(wc -l <"$work/close_range") sweepers were started"

rm "$work/close_range"
start_failing_mount
until_true 20 sweeper_of "$mount_pid" || fail "no sweeper"
: >"$work/fork"
kill -9 "$sweeper"
until_true 20 failed || fail "no other sweeper was to be forked"
append second
rm "$work/fork"
until_true 20 sweeper_of "$mount_pid" || fail "no other sweeper"
append second
arrives "$work/second" senddir/second
stop_mount || fail "status $? of k2hftfuse"
