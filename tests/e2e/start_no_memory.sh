#!/bin/sh
# SPDX-License-Identifier: MIT
# No memory for the configuration, or for a rule's regular expression, ends a start with status 1: systemd tries it again, as
# it does not if the configuration is wrong.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "$server" -ldl <<'END'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_FAILED 121 /* PCRE2_ERROR_HEAP_FAILED */

char *strdup(const char *text)
{
	const char *refused = getenv("REFUSED");
	char *copy;

	if (refused && *refused && strcmp(text, refused) == 0)
		return NULL;
	copy = malloc(strlen(text) + 1);
	return copy ? strcpy(copy, text) : NULL;
}

void *pcre2_compile_8(const void *text, size_t bytes, unsigned options, int *error, size_t *at, void *context)
{
	*error = HEAP_FAILED;
	*at = 0;
	return NULL;
}
END
# refused PATTERN REFUSED COMMAND...: it says PATTERN; REFUSED is a text that can't be copied.
refused() {
	pattern=$1 text=$2
	shift 2
	REFUSED=$text LD_PRELOAD=$preload timeout 20 "$@" >"$dir/said" 2>&1
	status=$?
	[ $status = 1 ] || fail "status $status: $* ($(cat "$dir/said"))"
	grep -q "$pattern" "$dir/said" || fail "no \"$pattern\": $(cat "$dir/said")"
}
receiver_config ''
refused 'conf: Cannot allocate memory' "$dir/conf" "$server" -conf "$dir/conf" --listen 127.0.0.1:0
receiver_config '[SLVNODE]' 'NAME = .*'
refused 'conf: Cannot allocate memory' '' "$server" -conf "$dir/conf" --listen 127.0.0.1:0
mkdir "$dir/mount"
mount=${B:-build}/bin/k2hftfuse
printf '%s\n' '[GLOBAL]' 'PORT = 1' '[SVRNODE]' 'NAME = localhost' '[K2HFTFUSE]' '[K2HFTFUSE_RULE]' 'TARGET = a' 'TRUNS = on' \
	'DEFAULTALL = DENY' 'ALLOW = "a.*b"' >"$dir/ini"
refused 'ini: Cannot allocate memory' '' "$mount" "$dir/mount" -f -o "conf=$dir/ini"
