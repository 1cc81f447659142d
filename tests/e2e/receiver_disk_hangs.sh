#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that does not answer the receiver's look at its directory, once a second, keeps nobody from connecting, and SIGTERM
# and SIGHUP are taken.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc

# FILE_BASEDIR can't be opened while $dir/hold exists; $dir/asked says that somebody tries to.
preload "$server" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int opened(const char *name, const char *path, int flags, va_list arguments)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);

	while (strcmp(path, getenv("BASE")) == 0 && access(getenv("HOLD"), F_OK) == 0) {
		(void)close(openat(AT_FDCWD, getenv("ASKED"), O_CREAT | O_WRONLY, 0600));
		(void)usleep(10000);
	}
	return real(path, flags, flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, unsigned) : 0);
}

#define OPEN(name)                                                                                                     \
	int name(const char *path, int flags, ...)                                                                     \
	{                                                                                                              \
		va_list arguments;                                                                                     \
		int descriptor;                                                                                        \
                                                                                                                       \
		va_start(arguments, flags);                                                                            \
		descriptor = opened(#name, path, flags, arguments);                                                    \
		va_end(arguments);                                                                                     \
		return descriptor;                                                                                     \
	}
#undef open
#undef open64
OPEN(open)
OPEN(open64)
END
booted="env LD_PRELOAD=$preload BASE=$dir/out HOLD=$dir/hold ASKED=$dir/asked"

receiver_config ""
receiver_start
sends 'a 1 0' a one
: >"$dir/hold"
wait_until [ -e "$dir/asked" ]
sends 'b 1 0' b two
kill -HUP "$pid"
wait_until logged 'any host may make new connections'
mkfifo "$dir/pipe"
wire <"$dir/pipe" >"$dir/kept" &
kept=$!
exec 3>"$dir/pipe"
printf '%s\n' 'hello kept 1 0' welcome closed >&3
welcomed() { grep -q '^welcome' "$dir/kept"; }
wait_until welcomed
kill -TERM "$pid"
exec 3>&-
wait "$kept" || fail "SIGTERM: $(cat "$dir/kept")"
rm "$dir/hold"
receiver_stop TERM
[ "$(cat "$dir/out/a" "$dir/out/b")" = "$(printf 'one\ntwo')" ] || fail "$(cat "$dir/out/a" "$dir/out/b")"
