#!/bin/sh
# SPDX-License-Identifier: MIT
# A committed chunk is skipped when it comes again, however it is cut the second time; the ledger outlives the receiver.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
sends 'ring 1 0' f one two three
receiver_stop TERM
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
