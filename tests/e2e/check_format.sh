#!/bin/sh
# SPDX-License-Identifier: MIT
# A FORMAT that can't be compiled is reported with its place, and so is a FILE_TIMEFORM.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /tmp/x' 'FORMAT = "%Z"' \
	'FILE_TIMEFORM = "%Q"' >"$dir/a.conf"
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
grep -q "^$dir/a.conf:5: error: .*%Z" "$dir/out" && grep -q "^$dir/a.conf:6: error: .*%Q" "$dir/out"
