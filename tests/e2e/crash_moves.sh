#!/bin/sh
# SPDX-License-Identifier: MIT
# A sender dies between the step that remembers a move and the first frame to the other receiver, and just before that
# step: over both receivers each record is there once.
set -u
# Tests run side by side, and one of them builds.
mkdir -p build-crash
exec 8>build-crash/lock
flock 8
eval "${K2HFT_MAKE:-make} -s crash-build" || exit 1
flock -u 8
exec 8>&-
B=build-crash
# shellcheck source=tests/tools/moving.inc
. tests/tools/moving.inc
up 1
up 2
# plan POINT: the sender dies there once
plan() {
	python3 -c 'import struct, sys
plan = struct.pack("=III60s", 0, 1, 1, sys.argv[1].encode())
open(sys.argv[2], "wb").write(plan.ljust(8 + 32 * 64, b"\0"))' "$1" "$dir/plan"
	export K2HFT_CRASH="$dir/plan"
}
# Records that the sender has read are in its ring; the next one begins behind them. Three seconds are long enough to read
# what is fed, also on a machine with much else to do.
sender "$dir/ring" 3000
feed 100
wait_until has 1 100
for point in move_before move_kept move_before move_kept; do
	exec 9>&-
	wait "$sending" || fail "the sender"
	before=$(lines_of 2)
	plan $point
	sender "$dir/ring" 3000
	unset K2HFT_CRASH
	feed 1000
	wait_until has 1 $((fed - before))
	down 1 STOP
	feed 2000
	exec 9>&-
	wait "$sending"
	[ $? = 137 ] || fail "the sender did not die at $point"
	sender "$dir/ring" 3000
	feed 2000
	wait_until has 2 $((before + 4000))
	down 1 CONT
	wait_until grep -q "moved from .* 127.0.0.1:$port_1 .*answers again" "$dir/sender.log"
	: >"$dir/sender.log"
done
exec 9>&-
wait "$sending" || fail "the sender"
sending=
expect_once
