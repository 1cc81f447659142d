#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that fails when a new worker is asked again for what waits, which a library in front of madvise(2) makes it do:
# worker after worker says so and takes nothing, and all that waits is served when the disk answers.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "planned.h"
#include "short_pauses.h"

int madvise(void *memory, size_t bytes, int advice)
{
	if (advice == MADV_POPULATE_WRITE && planned("populate")) {
		errno = EFAULT;
		return -1;
	}
	return (int)syscall(SYS_madvise, memory, bytes, advice);
}
END
mkdir "$work/plans"
settings="K2HTYPE = file
K2HFILE = $work/ring
WRITEMODE = direct"
refused() {
	[ "$(grep -c "mount: the ring can't be written: the disk of its file" "$work/mount.err")" -ge 3 ]
}

waits() {
	grep -q request_wait_answer "/proc/$1/wchan"
}

start_receiver
LD_PRELOAD=$preload PLANS=$work/plans
export LD_PRELOAD PLANS
start_mount
unset LD_PRELOAD PLANS
quick sh -c "echo one >'$sent/f'" || fail "a write"
worker_of "$mount_pid" || fail "no worker"
kill -STOP "$worker"
timeout -k 5 60 sh -c "echo two >>'$sent/f'" &
writer=$!
until_true 20 child_of "$writer" sh || fail "no writer"
until_true 20 waits "$child" || fail "no request that waits"
: >"$work/plans/populate"
kill -9 "$worker"
until_true 20 refused || fail "no word of it"
rm "$work/plans/populate"
wait "$writer" || fail "status $? of a write that waited"
printf 'one\ntwo\n' >"$work/expected"
arrives "$work/expected" senddir/f
stop_mount || fail "status $? of k2hftfuse"
