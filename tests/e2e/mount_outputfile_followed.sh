#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that follows a file of the mount, as tail -f does, goes on with the OUTPUTFILE that took the place of a renamed one: its
# length is what fstat(2) tells. Nobody who only reads makes one.
. tests/tools/mount.sh
rules="[K2HFTFUSE_RULE]
TARGET = one.log
DEFAULTALL = ALLOW
OUTPUTFILE = $work/one.copy
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
OUTPUTFILE = $work/copies/"
pick_port
start_mount

# follow FILE COPY
follow() {
	echo 'the first of two' >>"$1" || fail "write to $1"
	exec 3<"$1"
	[ "$(quick cat <&3)" = 'the first of two' ] || fail "$1 before"
	mv "$2" "$2.1"
	sleep 0.1
	quick cat <&3 >/dev/null || fail "$1 without its copy"
	[ ! -e "$2" ] || fail "$2 is made for a reader"
	echo second >>"$1" || fail "write to $1 again"
	[ "$(quick python3 -c 'import os; print(os.pread(3, 100, 0), os.pread(3, 100, 7))' 3<&3)" = "b'second\\n' b''" ] ||
		fail "$1 is not followed"
	exec 3<&-
}

follow "$mnt/one.log" "$work/one.copy"
follow "$mnt/many/x" "$work/copies/x"
stop_mount || fail "status $? of k2hftfuse"
