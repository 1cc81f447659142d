#!/bin/sh
# SPDX-License-Identifier: MIT
# With --strict a key without effect is enough for status 2; --quiet does not hide it then.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'MQACK = no' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /none/x' >"$dir/a.conf"
"${B:-build}/bin/k2hft" check -q "$dir/a.conf" >"$dir/out"
cmp "$dir/out" /dev/null
status=0
"${B:-build}/bin/k2hft" check -q --strict "$dir/a.conf" >"$dir/out" || status=$?
[ $status = 2 ]
grep -q MQACK "$dir/out"
