#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver is killed under load: another one takes over, and gives the ring back. Over both each record is there once.
# shellcheck source=tests/tools/moving.inc
. tests/tools/moving.inc
up 1
up 2
sender -w "$dir/ring" 1000
feed 5000
wait_until has 1 100
for _ in 1 2 3; do
	down 1 KILL
	before=$(lines_of 2)
	feed 10000
	wait_until has 2 $((before + 100))
	up 1
	feed 2000
	wait_until grep -q "moved from .* 127.0.0.1:$port_1 .*answers again" "$dir/sender.log"
	: >"$dir/sender.log"
	feed 1000
done
sender_end
grep -q 'moves 6 .* unsettled 0 target 0' "$dir/said" || fail "moves"
expect_once
