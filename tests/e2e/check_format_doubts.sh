#!/bin/sh
# SPDX-License-Identifier: MIT
# A FORMAT that loses the records' text, joins them, or makes JSON that is none is warned of.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# FORMAT WARNING...: the whole list.
warns() {
	printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' "FILE_BASEDIR = $dir/out" 'FILE_TIMEFORM = %F' "FORMAT = $1" \
		>"$dir/a.conf"
	"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
	shift
	[ "$(grep -c warning: "$dir/out")" = $# ] || fail
	for text; do grep -qF "a.conf:6: warning: FORMAT $text" "$dir/out" || fail; done
}
fail() {
	tail -n 1 "$dir/a.conf"
	cat "$dir/out"
	exit 1
}
warns '"%T %L"'
warns '"%T %l\n"'
warns "'{\"t\":\"%T\",\"h\":\"%H\",\"m\":\"%J\"}\\n'"
warns "\"%T +0900 x': {'message':'%l','host':'%H'}\\n\""
warns '"%T %H\n"' 'has none of %L, %l and %J'
warns '%l' 'does not end with \n'
warns '"%J"' 'does not end with \n'
warns '"%L%T"' 'does not end with \n'
warns "'{\"m\":\"a %l\",\"t\":\"%T\"}\\n'" 'has %l in quotes, and a record can have quotes itself: %J escapes them'
warns "'{\"f\":\"%F\",\"h\":\"%H\",\"m\":%l}\\n'" 'has %F in quotes, which are escaped in it only if %J' 'has %H in quotes'
