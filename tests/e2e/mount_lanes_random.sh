#!/bin/sh
# SPDX-License-Identifier: MIT
# DELIVERMODE = random: each record arrives once, at any receiver, and one too long for a chunk as a whole; each gets its
# share. With one away nobody waits: the others get what comes, also if the worker is killed meanwhile.
# shellcheck disable=SC2086 # words
. tests/tools/mount.sh
. tests/tools/lanes.inc
global='DELIVERMODE = random'
settings='RINGSIZE = 1M
DRAINTIMEOUT = 30'
lanes 3
start_mount
connected() { [ "$(stat_value "sum(lane['state'] == 'connected' for lane in s['lanes'])")" = 3 ]; }
until_true 30 connected || fail "not all are connected"
write_all() {
	writers=
	for file in 1 2 3 4; do
		seq -f "$1 $file %.0f" 100000 >>"$sent/$file" &
		writers="$writers $!"
	done
	for number in $2; do
		sleep 0.1
		kill -9 "$(pgrep -P "$mount_pid")"
	done
	wait $writers
}
expected() {
	for file in 1 2 3 4; do
		seq -f "$1 $file %.0f" 100000
	done
}
write_all a ''
long=$(printf '%0300000d' 7)
for number in 1 2 3; do
	echo "$number $long" >>"$sent/long"
done
until_true 30 all_acked || fail "not all is acknowledged"
expected a | sort >"$work/expected"
cat "$work"/r*/senddir/[1-4] | sort | cmp "$work/expected" - || fail "the union is not what was written"
for number in 1 2 3; do
	echo "$number $long"
done >"$work/long"
cat "$work"/r*/senddir/long | sort | cmp "$work/long" - || fail "long records"
for number in 1 2 3; do
	bytes=$(cat "$work/r$number"/senddir/[1-4] | wc -c)
	[ "$bytes" -gt $(($(wc -c <"$work/expected") / 20)) ] || fail "receiver $number has $bytes bytes"
done
down 2
write_all b '1 2 3'
stands_alone() { [ "$(cat "$work"/r[13]/senddir/[1-4] | grep -c ^b)" -gt 300000 ]; }
until_true 30 stands_alone || fail "the others get nothing"
up 2
until_true 30 all_acked || fail "not all is acknowledged in the end"
{ expected a; expected b; } | sort >"$work/expected"
cat "$work"/r*/senddir/[1-4] | sort | cmp "$work/expected" - || fail "the union in the end"
stop_mount || fail "status $? of k2hftfuse"
