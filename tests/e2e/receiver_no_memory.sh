#!/bin/sh
# SPDX-License-Identifier: MIT
# Without memory for a frame its sender is told so, and it is counted and logged; when there is memory, the frame is taken.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "$server" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_MAX (1536u * 1024)

void *realloc(void *memory, size_t bytes)
{
	static void *(*real)(void *, size_t);

	if (!real)
		real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	if (bytes > BYTES_MAX && access(getenv("NO_MEMORY"), F_OK) == 0)
		return NULL;
	return real(memory, bytes);
}
END
receiver_control
receiver_config 'FRAMEMAX = 4M' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
booted="env LD_PRELOAD=$preload NO_MEMORY=$dir/none"
: >"$dir/none"
receiver_start
send() {
	printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text log' 'frame 3000000' 'blob 1 1000000 1' 'blob 1 1000000 2' \
		'blob 1 900000 3' flush "$@" | wire >"$dir/said" 2>&1
}
send error closed || fail "$(cat "$dir/said")"
grep -q '^error 6 no memory for a frame' "$dir/said" || fail "$(cat "$dir/said")"
wait_until logged 'wirehost (127.0.0.1:[0-9]*) refused: no memory for a frame'
is limit_errors 1 || fail "not counted"
rm "$dir/none"
send ack bye || fail "$(cat "$dir/said")"
arrived log 2900000 || fail "it is not taken"
