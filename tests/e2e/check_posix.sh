#!/bin/sh
# SPDX-License-Identifier: MIT
# Regular expressions of POSIX that mean something else in PCRE2 are warned of, and nothing that looks like them.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.ini" <<'END'
[GLOBAL]
PORT = 8020
[SVRNODE]
NAME = logs.example
[K2HFTFUSE]
[K2HFTFUSE_RULE]
TARGET = a
TRUNS = yes
ALLOW = "\<word"
ALLOW = "(word\>)", "$1"
ALLOW = "a{,3}"
ALLOW = "\\<a>"
ALLOW = "[\<{,3}]"
ALLOW = "a{0,3}{x"
ALLOW = \<word\>
ALLOW = a{,3}
END
"${B:-build}/bin/k2hft" check "$dir/a.ini" >"$dir/out"
cat "$dir/out"
[ "$(sed -n 's/.*a.ini:\([0-9]*\): warning: .*/\1/p' "$dir/out" | tr '\n' ' ')" = '9 10 11 ' ] || exit 1
grep -q '9: warning: "\\<word": \\< and \\> are the characters < and > here; a word begins and ends with \\b' "$dir/out" &&
	grep -q '11: warning: "a{,3}": .*; write {0,3}' "$dir/out"
