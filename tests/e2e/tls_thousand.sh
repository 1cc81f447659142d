#!/bin/sh
# SPDX-License-Identifier: MIT
# With TLS 1,000 senders cost bounded memory, too, with the default of BUFFERMAX, and stop nobody: whether they stop in the
# handshake, in a record, or in a frame of which they send a byte at a time, or much and no end. Who announces a ClientHello
# that is longer than any is told off before there is room for it.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
# shellcheck source=tests/tools/crowd.inc
. tests/tools/crowd.inc
(umask 077 && echo 00112233445566778899aabbccddeeff >"$dir/key")

# DEED BYTES [OPTION...] as tests/tools/crowd.c has them
crowd() {
	deed=$1 bytes=$2
	shift 2
	crowd_start "$bytes" -k "$dir/key" -d "$deed" "$@"
	push --psk "$dir/key" --timeout 60 -t "$deed.$bytes" "$dir/in" || fail "$deed: $(cat "$dir/pushed")"
	cmp "$dir/in" "$dir/out/$deed.$bytes" || fail "file $deed.$bytes"
	crowd_judge
	kill -USR1 "$pid"
	wait_until logged 'counters:'
	crowd_end
	echo "$deed $bytes: $memory kB"
}

tls_config "PSKFILE = $dir/key"
crowd frame 1
crowd record 16000
crowd frame 1000000
crowd answer 0
crowd hello 16000 -f 16384
! grep -m 1 'counters:' "$dir/log" | grep -q tls_refused || fail "a ClientHello of 16 KiB is refused"
crowd hello 100000 -f 131396
logged 'its ClientHello is longer than 16 KiB' || fail "no word of longer ones"
logged ' tls_refused=1000\>' || fail "longer ones are not"
