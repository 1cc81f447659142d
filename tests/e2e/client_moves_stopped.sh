#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that is stopped under load is left. When it goes on it has more in its sockets than it has acknowledged,
# which it takes back: over both each record is there once.
# shellcheck source=tests/tools/moving.inc
. tests/tools/moving.inc
up 1
up 2
sender -w "$dir/ring" 1000
feed 2000
wait_until has 1 100
for _ in 1 2; do
	before=$(lines_of 2)
	down 1 STOP
	feed 6000
	wait_until has 2 $((before + 100))
	down 1 CONT
	feed 2000
	wait_until grep -q "moved from .* 127.0.0.1:$port_1 .*answers again" "$dir/sender.log"
	: >"$dir/sender.log"
	feed 1000
done
sender_end
grep -q 'moves 4 .* unsettled 0 target 0' "$dir/said" || fail "moves"
expect_once
