#!/bin/sh
# SPDX-License-Identifier: MIT
# Every regular expression and replacement that can't be compiled is reported with its place, and what POSIX means otherwise than
# PCRE2 is warned of, and nothing that looks like it.
# shellcheck source=tests/tools/said.inc
. tests/tools/said.inc
sender() { # LINE...: from line 9 on
	printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[SVRNODE]' 'NAME = logs.example' '[K2HFTFUSE]' '[K2HFTFUSE_RULE]' 'TARGET = a' \
		'TRUNS = yes' "$@" >"$dir/a.ini"
}
# shellcheck disable=SC2016
sender 'ALLOW = "good (.*)", "$1"' 'ALLOW = "bad ("' 'ALLOW = text (' 'ALLOW = "also bad [", "x"' '[K2HFTFUSE_RULE_DIR]' \
	'TARGET = /' 'TRUNS = yes' 'DEFAULTALL = ALLOW' 'DENY = "*"'
ends 2 "$k2hft" check "$dir/a.ini"
for line in 10 12 17; do says "^$dir/a.ini:$line: error: [AD][A-Z]*: "; done
says '^.*: 3 errors, 0 without effect$'

# shellcheck disable=SC1003,SC2016
sender 'ALLOW = "\<word"' 'ALLOW = "(word\>)", "$1"' 'ALLOW = "a{,3}"' 'ALLOW = "\\<a>"' 'ALLOW = "[\<{,3}]"' \
	'ALLOW = "a{0,3}{x"' 'ALLOW = \<word\>' 'ALLOW = a{,3}'
ends 0 "$k2hft" check "$dir/a.ini"
[ "$(sed -n 's/.*a.ini:\([0-9]*\): warning: .*/\1/p' "$dir/said" | tr '\n' ' ')" = '9 10 11 ' ] || fail "other lines"
says '9: warning: "\\<word": \\< and \\> are the characters < and > here; a word begins and ends with \\b' \
	'11: warning: "a{,3}": .*; write {0,3}'
