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
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static int opened(const char *called, int directory, const char *name, int flags, va_list arguments)
{
	int (*next)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, called);

	if (strchr(name, '\xff')) {
		errno = EILSEQ;
		return -1;
	}
	return next(directory, name, flags, flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, unsigned) : 0);
}

#define OPENAT(called)                                                                                                 \
	int called(int directory, const char *name, int flags, ...)                                                    \
	{                                                                                                              \
		va_list arguments;                                                                                     \
		int descriptor;                                                                                        \
                                                                                                                       \
		va_start(arguments, flags);                                                                            \
		descriptor = opened(#called, directory, name, flags, arguments);                                       \
		va_end(arguments);                                                                                     \
		return descriptor;                                                                                     \
	}
#undef openat
#undef openat64
OPENAT(openat)
OPENAT(openat64)
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
