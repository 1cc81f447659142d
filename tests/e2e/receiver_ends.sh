#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM ends the receiver with status 0: what is complete is written and acknowledged, senders get BYE and the end of
# the connection.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
for signal in TERM INT; do
	rm -f "$dir/said"
	receiver_start
	wire >"$dir/said" 2>&1 <<-END &
		hello ring$signal 1 0
		welcome
		stream 1 text $signal
		chunk 1 0 one\n
		flush
		ack
		closed
	END
	sender=$!
	wait_until grep -qs '^ack' "$dir/said"
	receiver_stop $signal
	wait $sender || fail "sender"
	grep -q '^closed' "$dir/said" || fail "not closed"
	printf 'one\n' | cmp - "$dir/out/$signal" || fail "file"
	logged 'disconnected at 40: 1 records, 4 bytes' || fail "no line with totals"
done
