#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that follows a file of the mount, as tail -f does, goes on with the OUTPUTFILE that took the place of a renamed one: its
# length is what fstat(2) tells. Nobody who only reads makes one. So do programs that have the file open when its worker dies.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
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

kill_worker() {
	worker_of "$mount_pid" || fail "no worker"
	before=$worker
	kill -9 "$before"
	until_true 20 another_worker "$before" || fail "no other worker"
}

# outlives FILE COPY: by those who have it open, when the worker is killed, in the copy as it is now and not as it was
outlives() {
	# shellcheck disable=SC2094 # that is what it is about
	exec 3>"$1" 4<"$1"
	echo first >&3 || fail "write to $1"
	[ "$(quick cat <&4)" = first ] || fail "$1 before"
	kill_worker
	echo second >&3 || fail "write to $1 after its worker"
	[ "$(quick cat <&4)" = second ] || fail "$1 is not followed by who has it open"
	mv "$2" "$2.1"
	kill_worker
	echo third >&3 || fail "write to $1 after another one"
	[ "$(cat "$2")" = third ] || fail "$2 is not where $1 goes"
	[ "$(quick python3 -c 'import os; print(os.pread(4, 100, 0))' 4<&4)" = "b'third\\n'" ] || fail "$1 is not followed"
	exec 3>&- 4<&-
}

follow "$mnt/one.log" "$work/one.copy"
follow "$mnt/many/x" "$work/copies/x"
mv "$work/one.copy" "$work/one.copy.2"
outlives "$mnt/one.log" "$work/one.copy"
outlives "$mnt/many/y" "$work/copies/y"
! grep 'any more' "$work/mount.err" || fail "what is there is not read"
stop_mount || fail "status $? of k2hftfuse"
