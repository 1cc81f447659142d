#!/bin/sh
# SPDX-License-Identifier: MIT
# Workers that fail as soon as they begin, which a library in front of their system calls makes them do: writers wait for
# one that does not, those that are killed are replaced for ever, and when too many failed the mount ends with an error
# for all who wait. What was accepted stays in the ring's file.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
# A worker that begins asks for a signalfd; every request comes by readv.
preload "$bin/k2hftfuse" <<'END'
#define _GNU_SOURCE
#include <linux/fuse.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "planned.h"
#include "short_pauses.h"

int signalfd(int fd, const sigset_t *signals, int flags)
{
	if (planned("killed"))
		raise(SIGKILL);
	if (planned("abort"))
		abort();
	return (int)syscall(SYS_signalfd4, fd, signals, 8, flags);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t bytes = syscall(SYS_readv, fd, parts, count);
	const struct fuse_in_header *header = parts[0].iov_base;

	if (bytes >= (ssize_t)sizeof(*header) && header->opcode == FUSE_WRITE && planned("write"))
		abort();
	return bytes;
}
END
mkdir "$work/plans"
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
RINGSIZE = 1M"
started() {
	LD_PRELOAD=$preload PLANS=$work/plans
	export LD_PRELOAD PLANS
	start_mount
	unset LD_PRELOAD PLANS
}
deaths() {
	[ "$(grep -c "the worker died ($1)" "$work/mount.err")" -ge "$2" ]
}
start_receiver
started
quick sh -c "echo one >'$sent/f'" || fail "a write"
: >"$work/plans/abort"
worker_of "$mount_pid" && kill -9 "$worker"
quick sh -c "echo two >>'$sent/f'" &
writer=$!
until_true 20 deaths Aborted 6 || fail "no deaths"
rm "$work/plans/abort"
wait "$writer" || fail "status $? of a write that waited for a worker"

: >"$work/plans/killed"
worker_of "$mount_pid" && kill -9 "$worker"
quick sh -c "echo three >>'$sent/f'" &
writer=$!
until_true 60 deaths Killed 25 || fail "workers that were killed are not replaced for ever"
rm "$work/plans/killed"
wait "$writer" || fail "status $? of a write while workers were killed"
printf 'one\ntwo\nthree\n' >"$work/expected"
arrives "$work/expected" senddir/f

stop_receiver
fixed_port=yes
quick sh -c "echo four >>'$sent/g'" || fail "a write without a receiver"
until_true 20 grep -aq four "$work/ring" || fail "not in the ring"
: >"$work/plans/write"
quick dd if=/dev/zero of="$sent/h" bs=1k count=1 2>/dev/null && fail "no error for the one whose request ended all workers"
wait_mount && fail "status 0"
grep -q "mount: $mnt ends: 20 workers in a row failed soon after their start" "$work/mount.err" || fail "no word at the end"
grep -q "mount: what is not acknowledged stays in $work/ring; what was in the page cache" "$work/mount.err" || fail "no word of what remains"
! mounted || fail "the mount is still there"
rm "$work/plans/write"
start_receiver
start_mount
echo four >"$work/expected"
arrives "$work/expected" senddir/g
stop_mount || fail "status $? of the next mount"
