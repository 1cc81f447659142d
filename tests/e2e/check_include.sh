#!/bin/sh
# SPDX-License-Identifier: MIT
# An error in an included file is reported with that file and its line; paths are relative to the including file.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/sub"
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'INCLUDE sub/receiver' >"$dir/a.conf"
printf '%s\n' '[K2HFTFUSESVR]' 'INCLUDE more' >"$dir/sub/receiver"
printf '%s\n' 'FILE_BASEDIR = /none/x' 'WINDOW = 1' >"$dir/sub/more"
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
grep -q "^$dir/sub/more:2: error: WINDOW = 1 is out of range; use 4M to 1G bytes$" "$dir/out" || exit 1

# A file that does not end is refused, and not read for ever.
printf '%s\n' '[GLOBAL]' 'INCLUDE /dev/zero' 'PORT = x' >"$dir/b.conf"
timeout 20 "${B:-build}/bin/k2hft" check "$dir/b.conf" /dev/zero >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
grep -q '^/dev/zero:1: error: more than 1048576 bytes' "$dir/out" || exit 1
grep -q "^$dir/b.conf:2: error: can't include /dev/zero: it is not a regular file" "$dir/out" || exit 1
grep -q "^$dir/b.conf:3: error: PORT" "$dir/out"
