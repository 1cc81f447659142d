#!/bin/sh
# SPDX-License-Identifier: MIT
# A # that a value begins with is part of it, as in K2HFTFUSE; where it looks like a comment, a warning says so.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.conf" <<'END'
[GLOBAL]
PORT = 8020 # the port
CAPATH =
# the authority
[SVRNODE]
NAME = logs.example
[K2HFTFUSE]
[K2HFTFUSE_RULE]
TARGET = a
TRUNS = yes
DEFAULTALL = ALLOW
ALLOW = #tag
ALLOW = '# quoted'
ALLOW = #
DENY = # nothing
OUTPUTFILE =	#	none
END
"${B:-build}/bin/k2hft" check "$dir/a.conf" >"$dir/out"
cat "$dir/out"
[ "$(grep -c 'begins a comment only behind a value' "$dir/out")" = 2 ] || exit 1
grep -q "^$dir/a.conf:15: warning: DENY has a value that begins with #" "$dir/out" || exit 1
grep -q "^$dir/a.conf:16: warning: OUTPUTFILE has a value that begins with #" "$dir/out" || exit 1
grep -q '^.*: 0 errors, ' "$dir/out"
