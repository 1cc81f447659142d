#!/bin/sh
# SPDX-License-Identifier: MIT
# Real logs, by cat and by cp, arrive byte for byte.
. tests/tools/mount.sh
found=$(find "$logs" -name '*.log' 2>/dev/null | sort)
[ -n "$found" ] || skip "no logs in $logs"
start_receiver
start_mount
for file in $found; do
	name=$(basename "$file")
	quick sh -c "cat '$file' >'$sent/cat-$name'" || fail "cat $name"
	quick cp "$file" "$sent/cp-$name" || fail "cp $name"
done
for file in $found; do
	name=$(basename "$file")
	arrives "$file" "senddir/cat-$name"
	arrives "$file" "senddir/cp-$name"
done
stop_mount || fail "status $? of k2hftfuse"
