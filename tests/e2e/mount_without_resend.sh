#!/bin/sh
# SPDX-License-Identifier: MIT
# A kernel that can't send requests again, which a library in front of readv(2) makes of this one: the mount says so at its
# start, works, and ends with its worker as any FUSE mount does.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" <<'END'
#define _GNU_SOURCE
#include <linux/fuse.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t bytes = syscall(SYS_readv, fd, parts, count);
	struct fuse_in_header *header = parts[0].iov_base;
	struct fuse_init_in *init = (struct fuse_init_in *)(header + 1);

	if (bytes >= (ssize_t)(sizeof(*header) + 8) && parts[0].iov_len >= sizeof(*header) + 8 &&
	    header->opcode == FUSE_INIT && header->len == bytes && init->minor > 39)
		init->minor = 39;
	return bytes;
}
END
start_receiver
LD_PRELOAD=$preload
export LD_PRELOAD
start_mount
unset LD_PRELOAD
said() {
	grep -q "this kernel can't send requests again (Linux 6.9 can): if the worker dies, the mount ends" "$work/mount.err"
}
until_true 20 said || fail "no word at the start"
seq 1 100000 >"$work/in"
quick cp "$work/in" "$sent/direct" || fail cp
quick sh -c "cat '$work/in' >>'$sent/cached'" || fail append
arrives "$work/in" senddir/direct
arrives "$work/in" senddir/cached
exec 3>>"$sent/open"
until_true 20 worker_of "$mount_pid" || fail "no worker"
kill -9 "${worker%% *}"
wait_mount && fail "status 0 although the worker was killed"
grep -q 'ends with it' "$work/mount.err" || fail "no word at the end"
grep -q 'what is not acknowledged is lost' "$work/mount.err" || fail "no word of what remains"
exec 3>&-
! quick ls "$sent" >/dev/null 2>&1 || fail "the mount is still there"
