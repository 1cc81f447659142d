#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_BASEDIR and STATEDIR that can't be made are an error of check; those that can are left alone.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/file"
for base in file file/a a/b/c; do
	printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' "FILE_BASEDIR = $dir/$base" "STATEDIR = $dir/$base/s" >"$dir/a.ini"
	"${B:-build}/bin/k2hft" check "$dir/a.ini" >"$dir/out"
	status=$?
	cat "$dir/out"
	if [ $base = a/b/c ]; then
		[ $status = 0 ] && [ ! -e "$dir/a" ] || exit 1
		continue
	fi
	[ $status = 2 ] || exit 1
	grep -q "^$dir/a.ini:4: error: FILE_BASEDIR = $dir/$base can't be used: $dir/$base: Not a directory" "$dir/out" || exit 1
	grep -q "^$dir/a.ini:5: error: STATEDIR = " "$dir/out" || exit 1
done
