#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring without a name is in the ledger as long as its sender is: programs that come and go for ever cost nothing. One in
# a file stays, and so does one whose sender is killed.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
push() { echo line | "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" -t f "$@" || fail "push $*"; }

receiver_control
receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
for _ in 1 2 3 4 5 6 7 8; do
	push
done
push --level synced
push --ring "$dir/ring"
push --ring "$dir/ring"
wait_until is connections_open 0
is ledger_rings 1 || fail "rings: $(counter ledger_rings)"

# Not acknowledged, or not everything, or not by this word.
printf '%s\n' 'hello killed 1 0' welcome 'stream 1 text f' 'chunk 1 0 line\n' flush ack | wire >"$dir/said" ||
	fail "$(cat "$dir/said")"
printf '%s\n' 'hello less 1 0' welcome 'stream 1 text f' 'chunk 1 0 line\n' flush ack 'bye 32' | wire >"$dir/said" ||
	fail "$(cat "$dir/said")"
wait_until is connections_open 0
is ledger_rings 3 || fail "rings: $(counter ledger_rings)"
receiver_stop KILL
receiver_start
is ledger_rings 3 || fail "rings after the receiver was killed: $(counter ledger_rings)"

# A sender that was acknowledged everything goes on there, known or not.
printf '%s\n' 'hello less 1 0' welcome 'bye 40' | wire >"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^welcome position 40 known' "$dir/said" || fail "not known: $(cat "$dir/said")"
wait_until is connections_open 0
printf '%s\n' 'hello less 1 40' welcome bye | wire >"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^welcome position 40 new' "$dir/said" || fail "still known: $(cat "$dir/said")"
is ledger_rings 2 || fail "rings: $(counter ledger_rings)"
printf 'line\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\n' | cmp - "$dir/out/f" || fail "f"
receiver_stop TERM
