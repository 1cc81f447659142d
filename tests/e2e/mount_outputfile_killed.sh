#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that follows a file of the mount that has an OUTPUTFILE goes on with it when the worker has been killed, and so do those who
# write: in the copy as it is now, not as it was when they opened it.
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

kill_worker() {
	worker_of "$mount_pid" || fail "no worker"
	before=$worker
	kill -9 "$before"
	until_true 20 another_worker "$before" || fail "no other worker"
}

# outlives FILE COPY
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

outlives "$mnt/one.log" "$work/one.copy"
outlives "$mnt/many/x" "$work/copies/x"
! grep 'any more' "$work/mount.err" || fail "what is there is not read"
stop_mount || fail "status $? of k2hftfuse"
