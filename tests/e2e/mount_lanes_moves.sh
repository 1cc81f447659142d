#!/bin/sh
# SPDX-License-Identifier: MIT
# FAILOVERTIME: files of a receiver that is away for good go on at another, and where both have a part, one goes on where the
# other ends; .k2hft-stat says so. A receiver that comes back gets its lane again, and the worker may die meanwhile.
. tests/tools/mount.sh
. tests/tools/lanes.inc
global='DELIVERMODE = hash'
settings='RINGSIZE = 256K
FAILOVERTIME = 1
DRAINTIMEOUT = 30'
lanes 3
start_mount
home_port=$(lane_port 2)
write_part() {
	for file in $(seq 36); do
		seq -f "$file $1 %.0f" 500 >>"$sent/$file" || fail "writing part $1"
	done
}
write_part 1
until_true 30 all_acked || fail "not all of part 1 is acknowledged"
down 2
write_part 2
until_true 30 all_acked || fail "not all of part 2 is acknowledged, with a receiver away"
goes_to=$(lane 2 goes_to)
[ "$goes_to" != "127.0.0.1:$home_port" ] || fail "the lane goes to $goes_to still"
[ "$(lane 2 moves)" = 1 ] || fail "$(lane 2 moves) moves"
kill -9 "$(pgrep -P "$mount_pid")"
write_part 3
until_true 30 all_acked || fail "not all of part 3 is acknowledged"
[ "$(lane 2 goes_to)" = "$goes_to" ] || fail "another worker sends to $(lane 2 goes_to)"
up 2
returned() { [ "$(lane 2 goes_to)" = "127.0.0.1:$home_port" ] && [ "$(lane 2 state)" = connected ]; }
until_true 30 returned || fail "the lane does not come home"
[ "$(lane 2 unsettled)" = 0 ] || fail "$(lane 2 unsettled) receivers are not settled"
write_part 4
until_true 30 all_acked || fail "not all of part 4 is acknowledged"
for file in $(seq 36); do
	for part in 1 2 3 4; do
		seq -f "$file $part %.0f" 500
	done >"$work/expected"
	if [ -e "$work/r2/senddir/$file" ]; then
		# Its parts 2 and 3 are at the other one.
		for part in 1 4; do
			seq -f "$file $part %.0f" 500
		done | cmp - "$work/r2/senddir/$file" || fail "$file at its home"
		for part in 2 3; do
			seq -f "$file $part %.0f" 500
		done | cmp - "$work"/r[13]/senddir/"$file" || fail "$file elsewhere"
	else
		cmp "$work/expected" "$work"/r[13]/senddir/"$file" || fail "$file"
	fi
done
stop_mount || fail "status $? of k2hftfuse"
