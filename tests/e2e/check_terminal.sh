#!/bin/sh
# SPDX-License-Identifier: MIT
# Text that k2hft check quotes of a file, which somebody else can have written, is no order to the terminal.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '[GLOBAL]\nPORT = \033[2Jx\nEVIL\033]0;title\007 = 1\n[K2HFTFUSESVR]\nTYPE = \302\2332J\n' >"$dir/conf"
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/out"
[ $? = 2 ] || exit 1
cat -v "$dir/out"
for wanted in '2: error: PORT = ?\[2Jx is not a whole number' '3: error: unknown key EVIL?\]0;title? in' \
	'5: error: TYPE = ?2J is not known'; do
	grep -q "conf:$wanted" "$dir/out" || {
		echo "missing: $wanted"
		exit 1
	}
done
