#!/bin/sh
# SPDX-License-Identifier: MIT
# A worker is killed while no process, and then no thread, is to be had for another, as at a limit of processes: writers
# wait for as long as that lasts, which a library in front of the system calls decides, and lose nothing. SIGTERM ends the
# mount even so.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "planned.h"
#include "short_pauses.h"

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	if (!planned("fork"))
		return real();
	errno = EAGAIN;
	return -1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");

	return planned("pthread_create") ? EAGAIN : real(thread, attributes, main, argument);
}
END
mkdir "$work/plans"
tried() { [ "$(wc -l <"$work/plans/$1")" -ge "$2" ]; }
start_receiver
LD_PRELOAD=$preload PLANS=$work/plans
export LD_PRELOAD PLANS
start_mount
unset LD_PRELOAD PLANS
quick sh -c "echo one >'$sent/f'" || fail "a write"
echo one >"$work/expected"
for call in fork pthread_create; do
	: >"$work/plans/$call"
	worker_of "$mount_pid" && kill -9 "$worker"
	quick sh -c "echo $call >>'$sent/f'" &
	writer=$!
	echo $call >>"$work/expected"
	until_true 60 tried $call 24 || fail "$call: no more is tried"
	rm "$work/plans/$call"
	wait "$writer" || fail "$call: status $? of a write that waited"
done
arrives "$work/expected" senddir/f
[ "$(grep -c 'no process or thread to be had' "$work/mount.err")" -lt 20 ] || fail "a line for each try"
! grep -q 'client: Resource' "$work/mount.err" || fail "a line for each thread"

: >"$work/plans/fork"
worker_of "$mount_pid" && kill -9 "$worker"
until_true 60 tried fork 2 || fail "it is not tried"
kill "$mount_pid"
wait_mount && fail "status 0"
! mounted || fail "the mount is still there"
