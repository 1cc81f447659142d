#!/bin/sh
# SPDX-License-Identifier: MIT
# A file system that takes names in UTF-8 only, as ZFS can, refuses others with EILSEQ: their records go to quarantine, and
# the other streams of their sender go on.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "$server" -ldl <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long values[6];
	va_list arguments;

	va_start(arguments, number);
	for (int at = 0; at < 6; at++)
		values[at] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_openat2 && strchr((const char *)values[1], '\xff')) {
		errno = EILSEQ;
		return -1;
	}
	return next(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}
END_OF_C
receiver_control
receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
export LD_PRELOAD="$preload"
receiver_start
unset LD_PRELOAD
wire >"$dir/said" <<'END' &
hello ring 1 0
welcome
path 1 61ff62
stream 2 text good
chunk 1 0 refused\n
chunk 2 0 taken\n
flush
ack
bye
END
sender=$!
wait_until is quarantined_chunks 1
wait $sender || fail "$(cat "$dir/said")"
echo taken | cmp - "$dir/out/good" || fail "the other stream"
echo refused | cmp - "$dir/out/.k2hft/quarantine/"*-00000000000000000000 || fail "quarantine"
receiver_stop TERM
