#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that are started without standard input where there is no /dev/null, which a library in front of open(2) hides:
# they say why they end.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "${B:-build}/bin/k2hft" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	errno = ENOENT;
	return strcmp(path, "/dev/null") == 0 ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

/* What open(2) becomes with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags)
{
	return open(path, flags);
}
END
for program in k2hft k2hftfuse k2hftfusesvr; do
	LD_PRELOAD=$preload "${B:-build}/bin/$program" --version <&- >"$dir/out" 2>"$dir/said" && fail "$program starts"
	grep -q "descriptor 0 is closed, and /dev/null can't take its place: No such file" "$dir/said" ||
		fail "$program: $(cat "$dir/said")"
done
