#!/bin/sh
# SPDX-License-Identifier: MIT
# Stream paths that lead out of the base directory: refused by rule, or put aside and counted, without stopping others.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir -p "$dir/out" "$dir/outside"
ln -s ../outside "$dir/out/link"
ln -s ../outside/target "$dir/out/file-link"
mkfifo "$dir/out/fifo"
mkdir "$dir/out/directory"
receiver_config ""
receiver_start
wire >"$dir/said" <<END || fail "$(cat "$dir/said")"
hello ring 1 0
welcome
stream 1 text link/x
stream 2 text file-link
stream 3 text fifo
stream 4 text directory
stream 5 text .k2hft/ledger
stream 6 text good
chunk 1 0 bad\n
chunk 2 0 bad\n
chunk 6 0 good\n
chunk 3 0 bad\n
chunk 4 0 bad\n
chunk 5 0 bad\n
chunk 6 0 good\n
flush
ack
END
printf 'good\ngood\n' | cmp - "$dir/out/good" || fail "the good stream"
[ -z "$(find "$dir/outside" -mindepth 1)" ] || fail "outside: $(find "$dir/outside")"
[ "$(cat "$dir"/out/.k2hft/quarantine/*-0* | grep -c bad)" = 5 ] || fail "quarantine"
[ "$(wc -l <"$dir/out/.k2hft/quarantine/index")" = 5 ] || fail "index of the quarantine"
kill -USR1 "$pid"
wait_until logged 'quarantined_chunks=5 quarantined_bytes=20\>'
receiver_stop TERM
receiver_start
printf 'hello ring 1 240\nwelcome\n' | wire | grep -q '^welcome position 280 known' || fail "not committed"
