#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft stat asks paths by a process of its own. When that is killed, which a library in front of fork(2) does, it says so;
# one that can't be made costs no descriptors, however often it asks; and it ends with the one that it asks for.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "${B:-build}/bin/k2hft" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork"), child;

	errno = EAGAIN;
	if (getenv("FAIL_FORK"))
		return -1;
	child = real();
	if (child == 0 && !getenv("HANG"))
		(void)raise(SIGKILL);
	return child;
}

int poll(struct pollfd *waits, nfds_t count, int timeout_ms)
{
	int (*real)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");

	return getenv("HANG") ? pause() : real(waits, count, timeout_ms);
}

int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)pause;
	(void)left;
	return 0;
}
END
asked() {
	LD_PRELOAD=$preload "${B:-build}/bin/k2hft" stat "$@" "$dir" >"$dir/shown" 2>&1
	status=$?
	[ $status = 1 ] || fail "status $status of k2hft stat $*: $(cat "$dir/shown")"
}
asked
grep -q 'the process that asked was killed' "$dir/shown" || fail "no word of the one that was killed"
# Its output is more than a pipe holds.
mkdir "$dir/large"
yes | head -c 300000 >"$dir/large/.k2hft-stat"
HANG=yes LD_PRELOAD=$preload "${B:-build}/bin/k2hft" stat "$dir/large" >"$dir/shown" 2>&1 &
asking=$!
asks() { children=$(cat "/proc/$asking/task/$asking/children") && [ "$children" ]; }
wait_until asks
kill -9 $asking
# shellcheck disable=SC2086
gone() { ! kill -0 $children 2>/dev/null; }
wait_until gone
# shellcheck disable=SC3045 # every sh here has it
ulimit -n 40
FAIL_FORK=yes
export FAIL_FORK
asked --interval 1 --count 100
[ "$(grep -c 'Resource temporarily unavailable' "$dir/shown")" = 100 ] || fail "$(tail -n 1 "$dir/shown")"
