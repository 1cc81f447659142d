#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is renamed while it is open: to which stream goes what somebody writes who opens it by its new name. As
# k2hftfuse(8) says: that of the new name, even if it was removed since; for appenders, who share one page cache, that of
# the first of them.
. tests/tools/mount.sh
start_receiver
start_mount

# records STREAM RECORD...: the stream comes to have these.
records() {
	stream=$1
	shift
	printf '%s\n' "$@" >"$work/expected"
	arrives "$work/expected" "senddir/$stream"
}

exec 3>"$sent/direct"
echo 1 >&3
mv "$sent/direct" "$sent/direct.1"
exec 4>"$sent/direct.1"
echo 2 >&4
echo 3 >&3
quick sync "$sent/direct.1" || fail sync
records direct 1 3
records direct.1 2

quick rm "$sent/direct.1"
quick sh -c 'echo 4 >/proc/self/fd/3' || fail "a removed file is not opened again"
exec 3>&- 4>&-
records direct.1 2 4

exec 3>>"$sent/cached"
echo 1 >&3
mv "$sent/cached" "$sent/cached.1"
exec 4>>"$sent/cached.1"
echo 2 >&4
exec 3>&-
echo 3 >&4
exec 4>&-
quick sync "$sent/cached.1" || fail sync
records cached 1 2 3
stop_mount || fail "status $? of k2hftfuse"
