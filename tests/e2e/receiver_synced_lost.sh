#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that goes away and comes back without the machine can have more of the ledger than of a file: what a sender of
# level synced was not acknowledged comes again, and nothing else does.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "$server" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of "f", until it is told otherwise. */
int fdatasync(int descriptor)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	struct stat status, slow;

	while (access(getenv("HOLD"), F_OK) == 0 && fstat(descriptor, &status) == 0 && stat(getenv("SLOW"), &slow) == 0 &&
	       status.st_ino == slow.st_ino)
		(void)usleep(10000);
	return real(descriptor);
}
END
receiver_config ""
booted="env LD_PRELOAD=$preload HOLD=$dir/hold SLOW=$dir/out/f"
receiver_start
printf '%s\n' 'hello ring 1 0 3' welcome 'stream 1 text f' 'chunk 1 0 one\n' flush ack close | wire >"$dir/said" ||
	fail "$(cat "$dir/said")"
printf '%s\n' 'hello written 1 0' welcome 'stream 1 text other' 'chunk 1 0 four\n' flush ack close | wire >"$dir/said" ||
	fail "$(cat "$dir/said")"
: >"$dir/hold"
printf '%s\n' 'hello ring 2 0 3' welcome 'stream 1 text f' 'chunk 1 0 two\n' flush close | wire >"$dir/said" ||
	fail "$(cat "$dir/said")"
wait_until arrived f 8
wait_until logged ' disconnected at 80: '
receiver_stop KILL
rm "$dir/hold"
# What was not synced is gone.
truncate -s 4 "$dir/out/f"
receiver_start
logged 'files are shorter than they were' || fail "no word of it"
printf '%s\n' 'hello ring 3 0 3' welcome 'stream 1 text f' 'chunk 1 0 two\n' flush ack bye | wire >"$dir/said" 2>&1 ||
	fail "$(cat "$dir/said")"
grep -q '^welcome position 40 known level 3' "$dir/said" || fail "$(cat "$dir/said")"
printf 'one\ntwo\n' | cmp - "$dir/out/f" || fail "the file"
printf '%s\n' 'hello written 2 0' welcome bye | wire >"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
grep -q '^welcome position 40 known' "$dir/said" || fail "the other: $(cat "$dir/said")"
printf 'four\n' | cmp - "$dir/out/other" || fail "the other file"
receiver_stop TERM
[ "$status" = 0 ] || fail "status $status"
