#!/bin/sh
# SPDX-License-Identifier: MIT
# Counters of what is rare at a receiver: no descriptor left, a sender's ERROR, a ledger that was torn, another boot.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
crowd=
trap 'code=$?; [ -z "$crowd" ] || kill "$crowd" 2>/dev/null; receiver_cleanup; exit $code' EXIT
k2hft=${B:-build}/bin/k2hft
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null || ! command -v prlimit >/dev/null; then
	skip "not root, or no prlimit"
fi

receiver_control
# With a boot id of its own, which changes as if the machine had gone down.
receiver_boot_id 11111111-1111-4111-8111-111111111111

receiver_config 'BUFFERMAX = 32M' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
lossy && fail "a loss already: $(cat "$dir/shown")"

# A sender that says what is wrong.
error=$(od -An -v -tx1 tests/golden/error.bin | tr -d ' \n')
wire <<END >"$dir/said" || fail "a sender's error: $(cat "$dir/said")"
hello error 1 0
welcome
raw $error
closed
END
wait_until is peer_errors 1
logged 'wirehost (127.0.0.1:[0-9]*) closes: ' || fail "no word of a sender's error"

# A file that is open, and memory that a frame takes which is not complete.
is files_open 0 || fail "open files: $(counter files_open)"
sends 'ring 1 0' f one
wait_until is files_open 1
before=$(counter buffer_bytes)
# Their frames go on, slowly: one that stands still would give way, and nobody wait for it.
"${B:-build}/tests/tools/crowd" -b 5000 "$port" 60 500000 >"$dir/crowd" &
crowd=$!
wait_until above buffer_bytes $((before + 16000000))
wait_until above starved_now 0
above starved 0 || fail "starved"
wait_until logged 'memory for frames is short (BUFFERMAX), and this frame took longer than 5 s'
kill $crowd
wait $crowd
crowd=
wait_until is starved_now 0
below() { [ "$(counter "$1")" -lt "$2" ]; }
wait_until below buffer_bytes $((before + 16000000))

# No descriptor is left: connections wait, and come in when there is one.
is accept_errors 0 || fail "accept errors"
limit=$(prlimit --pid "$pid" --nofile --noheadings --output SOFT | tr -d ' ')
prlimit --pid "$pid" --nofile=3:
printf '%s\n' 'hello late 1 0' welcome bye | wire >"$dir/said" &
late=$!
wait_until logged "listener: can't accept: Too many open files"
"$k2hft" stat --metrics --timeout 60 "127.0.0.1:$control" >"$dir/asked" &
asking=$!
wait_until logged "status: can't accept: Too many open files"
sleep 1
[ "$(grep -c 'status: ' "$dir/log")" -lt 5 ] || fail "it says so again and again: $(wc -l <"$dir/log") lines"
! logged 'accept() call' || fail "somebody else says so, too"
prlimit --pid "$pid" --nofile="$limit":
wait $late || fail "one that had to wait: $(cat "$dir/said")"
wait $asking || fail "one that had to wait and asked"
wait_until above accept_errors 1

# The last record of the ledger goes over the end of a page, and the machine's death kept what is before.
{
	printf '%s\n' 'hello torn 1 0' welcome 'stream 1 text torn'
	number=0
	while [ $number -lt 60 ]; do
		printf '%s\n' 'chunk 1 0 line\n' flush ack
		number=$((number + 1))
	done
} | wire >"$dir/said" || fail "$(cat "$dir/said")"
receiver_stop KILL
python3 - "$dir/out/.k2hft/ledger" <<'END' || fail "no record goes over the end of a page"
import struct, sys
with open(sys.argv[1], "r+b") as ledger:
    text = ledger.read()
    at = 56
    while at < 4096:
        begin, at = at, at + struct.unpack_from("<I", text, at)[0]
    ledger.seek(4096)
    ledger.write(bytes(len(text) - 4096))
    sys.exit(0 if at > 4096 else 1)
END
receiver_start
is ledger_torn 1 || fail "torn: $(counter ledger_torn)"
is ledger_damaged 0 || fail "damaged: $(counter ledger_damaged)"
logged 'its end was not whole' || fail "no word of a torn ledger"

# Another boot: what is behind the last commit may have been acknowledged, so it stays, and the sender says where it goes on.
sends 'ring 2 0' g two
receiver_stop KILL
printf 'perhaps acknowledged' >>"$dir/out/g"
receiver_boot_id 22222222-2222-4222-8222-222222222222
receiver_start
is uncertain_bytes 20 || fail "uncertain bytes: $(counter uncertain_bytes)"
is cut_bytes 0 || fail "something was cut"
logged 'output: g keeps 20 bytes that may not have been acknowledged' || fail "no word of uncertain bytes"
is uncertain_ranges 0 || fail "uncertain ranges: $(counter uncertain_ranges)"
printf '%s\n' 'hello ring 3 40' welcome bye | wire >"$dir/said" || fail "$(cat "$dir/said")"
is uncertain_ranges 1 || fail "uncertain ranges: $(counter uncertain_ranges)"
logged 'this machine went down.*goes on at 40, the ledger says' || fail "no word of an uncertain range"
lossy || fail "nothing uncertain is shown"
grep -q '! uncertain_ranges ' "$dir/shown" || fail "$(cat "$dir/shown")"
receiver_stop TERM
