#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads of a file that take long, as those of one on another machine can, which a library in front of read(2) makes of
# them: what was read before is sent and acknowledged meanwhile.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "${B:-build}/bin/k2hft" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAST_BYTES (64 << 20)

static int is_slow(int descriptor)
{
	struct stat about;

	return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > FAST_BYTES &&
	       lseek(descriptor, 0, SEEK_CUR) > FAST_BYTES && access(getenv("SLOW_WHILE"), F_OK) == 0;
}

ssize_t read(int descriptor, void *memory, size_t bytes)
{
	while (is_slow(descriptor))
		(void)usleep(10000);
	return syscall(SYS_read, descriptor, memory, bytes);
}

ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags)
{
	if (flags & RWF_NOWAIT && is_slow(descriptor)) {
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_preadv2, descriptor, parts, count, offset, 0, flags);
}
END
yes "a line of sixty-four bytes, of which a file has very many........" | head -c 80000000 >"$dir/input"
: >"$dir/slow"
receiver_config ""
receiver_start

LD_PRELOAD=$preload SLOW_WHILE=$dir/slow "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/ring" -t out \
	"$dir/input" &
pushing=$!
count() {
	"${B:-build}/bin/k2hft" stat --json "$dir/ring" 2>/dev/null | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"
}
acknowledged() {
	[ "$(count committed_bytes)" -gt 67000000 ] 2>/dev/null && [ "$(count unacked_records)" = 0 ]
}
wait_until acknowledged
rm "$dir/slow"
wait $pushing || fail "push"
cmp "$dir/input" "$dir/out/out" || fail "what arrived"
