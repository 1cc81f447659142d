#!/bin/sh
# SPDX-License-Identifier: MIT
# The output of --print is a configuration file with the same effective values.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.conf" <<'END'
[GLOBAL]
PORT = 8020
[SVRNODE]
NAME = logs.example
[K2HFTFUSE]
LINEMAX = 64k
[K2HFTFUSE_RULE]
TARGET = "a # b"
ALLOW = "(.*)\n", "$1"
[K2HFTFUSESVR]
FILE_BASEDIR = /none/x
FORMAT = "%T '%l'\n"
END
check() {
	"${B:-build}/bin/k2hft" check --print "$1"
}
check "$dir/a.conf" >"$dir/b.conf" 2>"$dir/findings"
cat "$dir/b.conf" "$dir/findings"
check "$dir/b.conf" >"$dir/c.conf" 2>/dev/null
cmp "$dir/b.conf" "$dir/c.conf"
grep -qF 'LINEMAX = 64K  # bytes; default 1M' "$dir/b.conf"
grep -qF 'DRAINTIMEOUT = 30  # seconds; default 30' "$dir/b.conf"
grep -qxF 'FILE_MODE = 0600  # default 0600' "$dir/b.conf"
grep -qF "FORMAT = \"%T '%l'\\\\n\"  # default %L" "$dir/b.conf"
grep -qx "$(grep ALLOW "$dir/a.conf" | sed 's/[$.*\]/\\&/g')" "$dir/b.conf"
grep -q '0 errors' "$dir/findings"
# Reports about a key that was not there are no part of it.
printf '[GLOBAL]\nPORT = 8020\n[K2HFTFUSESVR]\nFILE_BASEDIR = /none/x\n' >"$dir/server.conf"
check "$dir/server.conf" >"$dir/printed.conf" 2>/dev/null
"${B:-build}/bin/k2hft" check --strict "$dir/printed.conf"
# A wrong file has no values.
echo 'LINEMAX = 1' >>"$dir/a.conf"
check "$dir/a.conf" >"$dir/d.conf" 2>/dev/null && exit 1
[ ! -s "$dir/d.conf" ]
