#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring goes from the first receiver to the second, the third, and home again, as each is killed under load. All of them
# come back and are settled: over all of them each record is there once.
# shellcheck source=tests/tools/moving.inc
. tests/tools/moving.inc
up 1
up 2
up 3
sender -w "$dir/ring" 500
feed 3000
wait_until has 1 100
down 1 KILL
feed 3000
wait_until has 2 100
down 2 KILL
feed 3000
wait_until has 3 100
before=$(lines_of 1)
down 3 KILL
up 1
feed 3000
wait_until has 1 $((before + 100))
up 3
up 2
feed 3000
sender_end
grep -q 'unsettled 0 target 0' "$dir/said" || fail "moves"
expect_once
