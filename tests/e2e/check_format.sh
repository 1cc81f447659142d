#!/bin/sh
# SPDX-License-Identifier: MIT
# Values of FORMAT, FILE_TIMEFORM and FILE_UNIFY that can't be, or do nothing, are reported with their place.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /none/x' 'FORMAT = "%Z"' \
	'FILE_TIMEFORM = "%Q"' >"$dir/a.conf"
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
! grep -q note "$dir/out" || exit 1 # what is wrong is enough
grep -q "^$dir/a.conf:5: error: .*%Z" "$dir/out" && grep -q "^$dir/a.conf:6: error: .*%Q" "$dir/out" || exit 1

# Which of the two does nothing without the other; a FILE_UNIFY that is no path.
finds() { # TEXT LINE...
	text=$1
	shift
	printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /none/x' "$@" >"$dir/b.conf"
	"${B:-build}/bin/k2hft" check "$dir/b.conf" >"$dir/out"
	grep -q "^$dir/b.conf:$text" "$dir/out" && return
	cat "$dir/out"
	exit 1
}
finds '5: warning: %T in FORMAT has no effect' 'FORMAT = "%T %L"'
finds '5: note: FILE_TIMEFORM has no effect' 'FILE_TIMEFORM = %F'
finds ' 0 errors, 0 without effect' 'FILE_TIMEFORM = %F' 'FORMAT = "%T %L"' 'FILE_UNIFY = %F'
finds '5: error: FILE_UNIFY "%Q" does not give a path' 'FILE_UNIFY = %Q'
finds '5: error: FILE_UNIFY ".*" gives a path in .k2hft, ' 'FILE_UNIFY = .k2hft/%F'
finds '5: error: FILE_UNIFY ".*" gives a path of more than 32 parts' "FILE_UNIFY = $(printf 'a/%.0s' $(seq 32))b"
finds ' 0 errors, 0 without effect' "FILE_UNIFY = $(printf 'a/%.0s' $(seq 31))b"
