#!/bin/sh
# SPDX-License-Identifier: MIT
# A configuration means the same in each locale of the program that has the library read it: in a Turkish one I is not
# the capital of i. The program's locale stays as it was.
set -eu
build=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
localedef -i tr_TR -f ISO-8859-9 "$work/tr_TR" 2>/dev/null || {
	echo "SKIP: no localedef, or it does not know tr_TR"
	exit 77
}

cat >"$work/program.c" <<'END_OF_C'
#include <locale.h>
#include <stdio.h>
#include <strings.h>

#include <k2hft/config.h>

int main(int argc, char **argv)
{
	struct k2hft_sender *sender;
	char message[512];

	if (!setlocale(LC_ALL, "tr_TR") || strcasecmp("i", "I") == 0) {
		puts("SKIP: this C library has no Turkish");
		return 77;
	}
	if (k2hft_sender_open_config(argv[argc - 1], &sender, message, sizeof(message))) {
		puts(message);
		return 1;
	}
	return k2hft_sender_close(sender, 0) || strcasecmp("i", "I") == 0;
}
END_OF_C
"${CC:-cc}" -Wall -Wextra -Werror -Iinclude -o "$work/program" "$work/program.c" "$build/lib/libk2hft-config.so.0" "$build/lib/libk2hft.so.0"
printf '[GLOBAL]\nport = 1\n[SVRNODE]\nname = none.example\n[K2HFTFUSE]\nringsize = 1M\nk2hinit = YES\n' >"$work/app.ini"
LOCPATH=$work LD_LIBRARY_PATH=$build/lib "$work/program" "$work/app.ini"
