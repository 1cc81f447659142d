#!/bin/sh
# SPDX-License-Identifier: MIT
# What was committed is skipped when it comes again, however it is cut the second time; the ledger outlives the receiver.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
wire >"$dir/first" <<END || fail "sending"
hello ring 1 0
welcome
stream 1 text f
chunk 1 0 one\n
chunk 1 0 two\n
chunk 1 0 three\n
flush
ack
END
receiver_stop TERM
[ "$status" = 0 ] || fail "status $status"
receiver_start
wire >"$dir/second" <<END || fail "sending again"
hello ring 2 40
welcome
stream 1 text f
position 40
chunk 1 0 two\n
flush
chunk 1 0 three\n
chunk 1 0 four\n
flush
ack
END
grep -q '^welcome position 120 known' "$dir/second" || fail "$(cat "$dir/second")"
printf 'one\ntwo\nthree\nfour\n' | cmp - "$dir/out/f" || fail "not once each"
kill -USR1 "$pid"
wait_until logged 'duplicate_chunks=2'
