#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft check reports every finding of every file with its place: errors, keys without effect, values that look like comments,
# directories that can't be, also in what is included; and text that it quotes is no order to the terminal.
# shellcheck source=tests/tools/said.inc
. tests/tools/said.inc
server() { printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /none/x' "$@"; }

# Every error of several files.
printf '%s\n' '[K2HFTFUSE]' 'TRANSLINCNT = 10' 'RINGSIZE = 1' >"$dir/a.conf"
printf '%s\n' '[GLOBAL]' 'PORT = 70000' '[K2HFTFUSESVR]' 'FILE_BASEDIR = x' >"$dir/b.conf"
ends 2 "$k2hft" check "$dir/a.conf" "$dir/b.conf" "$dir/none"
says "^$dir/a.conf:2: error: unknown key TRANSLINCNT in \[K2HFTFUSE\]; did you mean TRANSLINECNT?" \
	"^$dir/a.conf:3: error: RINGSIZE = 1 is out of range; use 64K to 1T bytes" "^$dir/a.conf:1: error: .*SVRNODE" \
	"^$dir/b.conf:2: error: PORT = 70000 is out of range; use 1 to 65535" "^$dir/b.conf:4: error: .*absolute path" \
	"^$dir/none: error: No such file or directory" "^$dir/b.conf: 2 errors, 0 without effect"

# Keys without effect: none in the sample configurations; else listed, unless --quiet hides them, and enough for --strict.
ends 0 "$k2hft" check --strict examples/*.ini
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'MQACK = no' '[SVRNODE]' 'NAME = logs.example' '[K2HFTFUSE]' 'K2HTYPE = mem' \
	>"$dir/a.conf"
ends 0 "$k2hft" check "$dir/a.conf"
says "^$dir/a.conf:3: note: MQACK has no effect: " "^$dir/a.conf: 0 errors, 1 without effect$"
ends 0 "$k2hft" check -q "$dir/a.conf"
cmp "$dir/said" /dev/null || fail "not quiet"
ends 2 "$k2hft" check -q --strict "$dir/a.conf"
says MQACK

# FILE_BASEDIR and STATEDIR that can be made are left alone.
: >"$dir/file"
for base in file file/a a/b/c; do
	printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' "FILE_BASEDIR = $dir/$base" "STATEDIR = $dir/$base/s" >"$dir/a.ini"
	if [ $base = a/b/c ]; then
		ends 0 "$k2hft" check "$dir/a.ini"
		[ ! -e "$dir/a" ] || fail "it makes directories"
		continue
	fi
	ends 2 "$k2hft" check "$dir/a.ini"
	says "^$dir/a.ini:4: error: FILE_BASEDIR = $dir/$base can't be used: $dir/$base: Not a directory" \
		"^$dir/a.ini:5: error: STATEDIR = "
done

# Paths of INCLUDE are relative to the including file; one that does not end is refused, and not read for ever.
mkdir "$dir/sub"
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'INCLUDE sub/receiver' >"$dir/a.conf"
printf '%s\n' '[K2HFTFUSESVR]' 'INCLUDE more' >"$dir/sub/receiver"
printf '%s\n' 'FILE_BASEDIR = /none/x' 'WINDOW = 1' >"$dir/sub/more"
ends 2 "$k2hft" check "$dir/a.conf"
says "^$dir/sub/more:2: error: WINDOW = 1 is out of range; use 4M to 1G bytes$"
printf '%s\n' '[GLOBAL]' 'INCLUDE /dev/zero' 'PORT = x' >"$dir/b.conf"
ends 2 timeout 20 "$k2hft" check "$dir/b.conf" /dev/zero
says '^/dev/zero:1: error: more than 1048576 bytes' "^$dir/b.conf:3: error: PORT" \
	"^$dir/b.conf:2: error: can't include /dev/zero: it is not a regular file"

# A # that a value begins with is part of it, as in K2HFTFUSE; where it looks like a comment, a warning says so.
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
ends 0 "$k2hft" check "$dir/a.conf"
[ "$(grep -c 'begins a comment only behind a value' "$dir/said")" = 2 ] || fail "not two"
says "^$dir/a.conf:15: warning: DENY has a value that begins with #" "^.*: 0 errors, " \
	"^$dir/a.conf:16: warning: OUTPUTFILE has a value that begins with #"

# Somebody else can have written a file.
printf '[GLOBAL]\nPORT = \033[2Jx\nEVIL\033]0;title\007 = 1\n[K2HFTFUSESVR]\nTYPE = \302\2332J\n' >"$dir/conf"
ends 2 "$k2hft" check "$dir/conf"
says 'conf:2: error: PORT = ?\[2Jx is not a whole number' 'conf:3: error: unknown key EVIL?\]0;title? in' \
	'conf:5: error: TYPE = ?2J is not known'

# Values of FORMAT, FILE_TIMEFORM and FILE_UNIFY that can't be, or do nothing.
server 'FORMAT = "%Z"' 'FILE_TIMEFORM = "%Q"' >"$dir/a.conf"
ends 2 "$k2hft" check "$dir/a.conf"
says "^$dir/a.conf:5: error: .*%Z" "^$dir/a.conf:6: error: .*%Q"
! grep note "$dir/said" || fail "what is wrong is enough"
finds() { # STATUS TEXT LINE...
	status=$1 text=$2
	shift 2
	server "$@" >"$dir/a.conf"
	ends "$status" "$k2hft" check "$dir/a.conf"
	says "^$dir/a.conf:$text"
}
finds 0 '5: warning: %T in FORMAT has no effect' 'FORMAT = "%T %L"'
finds 0 '5: note: FILE_TIMEFORM has no effect' 'FILE_TIMEFORM = %F'
finds 0 ' 0 errors, 0 without effect' 'FILE_TIMEFORM = %F' 'FORMAT = "%T %L"' 'FILE_UNIFY = %F'
finds 2 '5: error: FILE_UNIFY "%Q" does not give a path' 'FILE_UNIFY = %Q'
finds 2 '5: error: FILE_UNIFY ".*" gives a path in .k2hft, ' 'FILE_UNIFY = .k2hft/%F'
finds 2 '5: error: FILE_UNIFY ".*" gives a path of more than 32 parts' "FILE_UNIFY = $(printf 'a/%.0s' $(seq 32))b"
finds 0 ' 0 errors, 0 without effect' "FILE_UNIFY = $(printf 'a/%.0s' $(seq 31))b"

# A FORMAT that loses the records' text, joins them, or makes JSON that is none is warned of: the whole list.
warns() { # FORMAT WARNING...
	server 'FILE_TIMEFORM = %F' "FORMAT = $1" >"$dir/a.conf"
	ends 0 "$k2hft" check "$dir/a.conf"
	shift
	[ "$(grep -c warning: "$dir/said")" = $# ] || fail "not $#: $(tail -n 1 "$dir/a.conf")"
	for text; do grep -qF "a.conf:6: warning: FORMAT $text" "$dir/said" || fail "no $text: $(tail -n 1 "$dir/a.conf")"; done
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
