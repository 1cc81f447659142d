#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that gets no memory for its state, as where LimitAS= is low, which a library in front of mmap(2) makes of
# it: it says so, and nothing is mounted.
. tests/tools/mount.sh
. tests/tools/preload.inc
preload "$bin/k2hftfuse" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#define STATE (MAP_SHARED | MAP_NORESERVE)

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) =
		(void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");

	errno = ENOMEM;
	if ((flags & STATE) == STATE)
		return MAP_FAILED;
	return real(at, bytes, protection, flags, file, offset);
}
END
pick_port
sender_config
LD_PRELOAD=$preload quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/said"
status=$?
[ $status = 1 ] || fail "status $status"
grep -q 'memory: Cannot allocate memory' "$work/said" || fail "it says: $(cat "$work/said")"
! mounted || fail "it is mounted"
