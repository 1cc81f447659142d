#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that appends to a log while the ring is full is gone when it is killed, although the receiver is away, and its
# port is free for the next one. So is one of two that append to the same log, and one that writes directly.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
stop_receiver
fixed_port=yes
start_mount
for way in cached shared direct; do
	rm -f "$work/port"
	other=
	if [ $way = shared ]; then
		python3 tests/tools/append_without_end.py "$sent/$way" "$work/other" &
		other=$!
	fi
	# shellcheck disable=SC2046
	python3 tests/tools/append_without_end.py $([ $way != direct ] || echo --direct) --port "$work/port" "$sent/$way" \
		"$work/copy" &
	server=$!
	until_true 20 test -s "$work/port" || fail "$way: no server"
	# shellcheck disable=SC2086
	comes_to_wait $server $other
	gone $server && fail "$way: the server does not wait"
	kill -9 $server
	until_true 20 ended $server || fail "$way: a killed writer stays: $(cat /proc/$server/stack /proc/$server/wchan 2>/dev/null)"
	wait $server 2>/dev/null
	listens "$(cat "$work/port")" && fail "$way: its port is taken"
	[ -n "$other" ] || continue
	kill -9 "$other"
	until_true 20 ended "$other" || fail "the other one stays"
done
start_receiver
stop_mount || fail "status $? of k2hftfuse"
