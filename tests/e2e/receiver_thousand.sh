#!/bin/sh
# SPDX-License-Identifier: MIT
# 1,000 senders that greet, announce the largest frame and send it a byte at a time, or much of it and no end, cost bounded
# memory, with the default of BUFFERMAX, and stop nobody. One more than CONNMAX is told so on both sides.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/crowd.inc
. tests/tools/crowd.inc

# BYTES of the frame that each sends at once, NAME of the honest sender's file
crowd() {
	crowd_start "$1"
	"${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" -t "$2" --timeout 100 <"$dir/in" 2>"$dir/said" ||
		fail "the honest sender: $(cat "$dir/said")"
	cmp "$dir/in" "$dir/out/$2" || fail "file $2"
	crowd_judge
}

receiver_config 'CONNMAX = 1001'
crowd 1 slow
kill -USR1 "$pid"
wait_until logged 'counters:'
! logged ' starved=' || fail "a connection waited for memory"
# The honest one may not be gone yet. Who has not greeted would make room for the next.
for name in a b; do
	printf '%s\n' "hello $name 1 0" welcome closed | wire >"$dir/$name" 2>/dev/null &
	others="${others:-} $!"
	wait_until grep -qsE '^(welcome|error) ' "$dir/$name"
done
wait_until grep -qs '^error 6 too many senders' "$dir/a" "$dir/b"
wait_until logged 'refused: there are as many connections as CONNMAX allows$'
# shellcheck disable=SC2086
kill $others 2>/dev/null
crowd_end

crowd 1000000 fast
# A sender that takes memory that others wait for and does not go on with its frame loses it.
wait_until logged 'memory for frames is short (BUFFERMAX), and this frame made no progress'
crowd_end
