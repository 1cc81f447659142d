#!/bin/sh
# SPDX-License-Identifier: MIT
# DRAINTIMEOUT has passed, and a worker is killed while it gives up, one by one, what has found no room in the ring: its
# successor gives up the others, and they are counted as lost.
. tests/tools/mount.sh
. tests/tools/preload.inc
settings='RINGSIZE = 1M
DRAINTIMEOUT = 1'
preload "$bin/k2hftfuse" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

/* Called for each file that is given up. The request of the writer, which came first, has its answer then. */
char *strerror(int error)
{
	static int given_up;
	const char *once = getenv("KILLED_ONCE");

	if (error == ECONNABORTED && ++given_up == 2 && once && open(once, O_CREAT | O_EXCL, 0600) >= 0)
		raise(SIGKILL);
	return ((char *(*)(int))dlsym(RTLD_NEXT, "strerror"))(error);
}
END
pick_port
export KILLED_ONCE="$work/once" LD_PRELOAD="$preload"
start_mount
unset LD_PRELOAD
python3 tests/tools/write_numbers.py "$sent/blocked" >"$work/accepted" &
writer=$!
until_true 20 ring_full 130 || fail "the ring does not fill"
seq 100000 >"$work/appended"
exec 9>>"$sent/appended"
quick cat "$work/appended" >&9 || fail "not appended"
kill $mount_pid
wait_mount && fail "status 0 although records are lost"
wait $writer || fail "the writer"
[ -e "$work/once" ] || fail "no worker was killed"
number() {
	sed -n "s/.*[ :]\([0-9]*\) records $1.*/\1/p" "$work/mount.err"
}
lost=$(number 'that were accepted are lost')
kept=$(number 'are not acknowledged')
# A last line without its end is a record, too.
accepted=$(($(grep -c '' "$work/accepted") + 100000))
[ $((lost + kept)) = "$accepted" ] || fail "$accepted accepted, $kept in the ring, $lost reported"
