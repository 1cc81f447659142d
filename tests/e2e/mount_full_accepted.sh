#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs append while the receiver is away, and are killed, and so is the worker: what write(2) has accepted of them
# arrives when the receiver is back, and of the line that a kill interrupted all or nothing.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings='RINGSIZE = 1M'
start_receiver
start_mount
writers=
for name in one two three four; do
	python3 tests/tools/append_without_end.py "$sent/$name" "$work/$name" &
	writers="$writers $!"
done
have_begun() {
	for name in one two three four; do
		[ "$(wc -c <"$work/$name")" -gt 100000 ] || return 1
	done
}
until_true 60 have_begun || fail "the writers do not write"
for round in 1 2 3; do
	kill -STOP "$receiver_pid"
	# shellcheck disable=SC2086
	comes_to_wait $writers
	worker_of "$mount_pid" || fail "no worker"
	first=$worker
	kill -9 "$worker"
	until_true 20 another_worker "$first" || fail "no other worker"
	# shellcheck disable=SC2086
	comes_to_wait $writers
	[ $round = 3 ] || kill -CONT "$receiver_pid"
	sleep 0.3
done
for writer in $writers; do
	kill -9 "$writer"
	until_true 20 ended "$writer" || fail "a killed writer stays"
done
kill -CONT "$receiver_pid"
stop_mount || fail "status $? of k2hftfuse"
for name in one two three four; do
	bytes=$(wc -c <"$work/$name")
	[ "$bytes" -gt 100000 ] || fail "$name: only $bytes bytes were accepted"
	head -c "$bytes" "$received/senddir/$name" | cmp - "$work/$name" || fail "$name: what was accepted"
	rest=$(tail -c +$((bytes + 1)) "$received/senddir/$name" | wc -l)
	[ "$rest" -le 1 ] || fail "$name: $rest lines more"
	[ "$(tail -c 1 "$received/senddir/$name")" = "" ] || fail "$name: the last line is not whole"
done
