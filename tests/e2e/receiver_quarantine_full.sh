#!/bin/sh
# SPDX-License-Identifier: MIT
# A quarantine that has all it may have holds the sender that needs it, acknowledges nothing of it, and stops nobody else.
# Files that were moved away make room again.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir -p "$dir/out/.k2hft/quarantine" "$dir/outside"
chmod 700 "$dir/out/.k2hft"
ln -s ../outside "$dir/out/link"
truncate -s 33554000 "$dir/out/.k2hft/quarantine/earlier"
receiver_config 'QUARANTINEMAX = 32M'
receiver_start
printf '%s\n' 'hello bad 1 0' welcome 'stream 1 text link/x' 'chunk 1 0 bad\n' flush 'status 2' ack bye |
	wire >"$dir/said" 2>&1 &
sender=$!
wait_until logged 'has QUARANTINEMAX'
wait_until logged "hold: records of wirehost .* can't be written to the quarantine: "
printf '%s\n' 'hello good 1 0' welcome 'stream 1 text good' 'chunk 1 0 good\n' flush ack bye | wire >/dev/null ||
	fail "the other sender"
[ "$(cat "$dir/out/good")" = good ] || fail "the other sender's file"
! grep -q '^ack' "$dir/said" || fail "acknowledged: $(cat "$dir/said")"
rm "$dir/out/.k2hft/quarantine/earlier"
wait $sender || fail "the sender: $(cat "$dir/said")"
grep -q '^ack' "$dir/said" || fail "not acknowledged"
[ "$(cat "$dir"/out/.k2hft/quarantine/*-0*)" = bad ] || fail "quarantine"
kill -USR1 "$pid"
wait_until logged ' quarantined_chunks=1 .* quarantine_full=[1-9]'
receiver_stop TERM

# The smallest one has room for what it can hold, also if all comes at once and each record takes a file.
rm -r "$dir/out/.k2hft/quarantine"
receiver_start
{
	printf '%s\n' 'hello many 1 0' welcome 'stream 1 text link/x'
	yes 'chunk 1 0 b\n' | head -n 7000
	printf '%s\n' flush ack bye
} | wire >"$dir/said" || fail "many small ones: $(cat "$dir/said")"
found=$(find "$dir/out/.k2hft/quarantine" -name '*-0*' | wc -l)
[ "$found" = 7000 ] || fail "$found files"
receiver_stop TERM
