#!/bin/sh
# SPDX-License-Identifier: MIT
# Every error of every file is reported with its place; the status is 2.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '[K2HFTFUSE]' 'TRANSLINCNT = 10' 'RINGSIZE = 1' >"$dir/a.conf"
printf '%s\n' '[GLOBAL]' 'PORT = 70000' '[K2HFTFUSESVR]' 'FILE_BASEDIR = x' >"$dir/b.conf"
"${B:-build}/bin/k2hft" check "$dir/a.conf" "$dir/b.conf" "$dir/none" >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
for wanted in 'a.conf:2: error: unknown key TRANSLINCNT in \[K2HFTFUSE\]; did you mean TRANSLINECNT?' \
	'a.conf:3: error: RINGSIZE = 1 is out of range; use 64K to 1T bytes' 'a.conf:1: error: .*SVRNODE' \
	'b.conf:2: error: PORT = 70000 is out of range; use 1 to 65535' 'b.conf:4: error: .*absolute path' \
	'none: error: No such file or directory' 'b.conf: 2 errors, 0 without effect'; do
	grep -q "^$dir/$wanted" "$dir/out" || {
		echo "missing: $wanted"
		exit 1
	}
done
