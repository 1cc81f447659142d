#!/bin/sh
# SPDX-License-Identifier: MIT
# A file with nothing wrong: status 0, the keys without effect listed with their lines.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'MQACK = no' '[SVRNODE]' 'NAME = logs.example' '[K2HFTFUSE]' 'K2HTYPE = mem' \
	>"$dir/a.conf"
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
cat "$dir/out"
grep -q "^$dir/a.conf:3: note: MQACK has no effect: " "$dir/out"
grep -q "^$dir/a.conf: 0 errors, 1 without effect$" "$dir/out"
