#!/bin/sh
# SPDX-License-Identifier: MIT
# Four writers at once to three files, all in one file at the receiver: each writer's lines are all there, once, in their
# order, and none is broken.
. tests/tools/mount.sh
# The cached way pieces of lines come between each other, as they do in any file.
settings='WRITEMODE = direct'
receiver_settings='FILE_UNIFY = log/unify.log'
start_receiver
start_mount
for writer in a b c d; do
	seq -f "$writer %.0f $(printf '%040d' 0)" 1 30000 >"$work/$writer"
	file=$writer
	[ $writer != d ] || file=c # two on one file, each with its own descriptor
	quick dd if="$work/$writer" of="$sent/$file" obs=3001 oflag=append conv=notrunc status=none &
	eval "$writer=$!"
done
# shellcheck disable=SC2154
for pid in $a $b $c $d; do
	wait "$pid" || fail "a writer failed"
done
stop_mount || fail "status $? of k2hftfuse"
[ "$(wc -l <"$received/log/unify.log")" = 120000 ] || fail "$(wc -l <"$received/log/unify.log") of 120000 lines"
for writer in a b c d; do
	grep "^$writer " "$received/log/unify.log" >"$work/got"
	cmp "$work/$writer" "$work/got" || fail "lines of writer $writer"
done
