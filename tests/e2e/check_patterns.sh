#!/bin/sh
# SPDX-License-Identifier: MIT
# Every regular expression and replacement that can't be compiled is reported with its place.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.conf" <<'END'
[SVRNODE]
NAME = logs.example
PORT = 8020
[K2HFTFUSE]
[K2HFTFUSE_RULE]
TARGET = a
TRUNS = yes
ALLOW = "good (.*)", "$1"
ALLOW = "bad ("
ALLOW = text (
ALLOW = "also bad [", "x"
[K2HFTFUSE_RULE_DIR]
TARGET = /
TRUNS = yes
DEFAULTALL = ALLOW
DENY = "*"
END
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
[ $? = 2 ] || exit 1
cat "$dir/out"
for line in 9 11 16; do
	grep -q "^$dir/a.conf:$line: error: [AD][A-Z]*: " "$dir/out" || exit 1
done
grep -q '^.*: 3 errors, 0 without effect$' "$dir/out"
