#!/bin/sh
# SPDX-License-Identifier: MIT
# The answer of Linux 5.9 and 5.10 for a file's bytes that are not in memory is not taken for its end: a library in front of
# preadv2(2) says it always.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "${B:-build}/bin/k2hft" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags)
{
	if (!(flags & RWF_NOWAIT))
		return syscall(SYS_preadv2, descriptor, parts, count, offset, 0, flags);
	(void)!write(STDOUT_FILENO, "0", 1);
	return 0;
}
END
yes "a line of sixty-four bytes, of which a file has very many........" | head -c 80000000 >"$dir/input"
receiver_config ""
receiver_start
LD_PRELOAD=$preload "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" -t out "$dir/input" >"$dir/ends" || fail "push"
cmp "$dir/input" "$dir/out/out" || fail "what arrived"
[ -s "$dir/ends" ] || fail "it was never asked"
