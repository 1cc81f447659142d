#!/bin/sh
# SPDX-License-Identifier: MIT
# Each counter of a receiver that can be brought about counts what was brought about, and k2hft stat says so.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft=${B:-build}/bin/k2hft
mkdir "$dir/out"

receiver_control
config() { receiver_config "$@" '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"; }

# count NAME N, script on standard input: the script makes the counter N.
count() {
	wire >"$dir/said" || fail "$1: $(cat "$dir/said")"
	wait_until is "$1" "$2"
}

config "FILE_UNIFY = all" 'CONNMAX = 3'
receiver_start
lossy && fail "a loss already: $(cat "$dir/shown")"
count records 2 <<END
hello one 1 0
welcome
stream 1 text f
chunk 1 0 good\n
chunk 1 0 unended
flush
ack
END
is terminated_records 1 || fail "terminated: $(counter terminated_records)"
is bytes 12 || fail "bytes"
[ "$(cat "$dir/out/all")" = "good
unended" ] || fail "file"
count duplicate_chunks 1 <<END
hello one 2 40
welcome
stream 1 text f
position 40
chunk 1 0 unended
flush
chunk 1 0 more\n
flush
ack
END
count stale_epochs 1 <<END
hello one 1 0
error
END
count checksum_errors 1 <<END
hello two 1 0
welcome
stream 1 text f
chunk 1 0 bad\n
damage 77
flush
error
END
count position_errors 1 <<END
hello three 1 0
welcome
stream 1 text f
position 200
chunk 1 0 bad\n
flush
error
END
count limit_errors 1 <<END
hello four 1 0
welcome
stream 1 text f
gap 1073741824
position 1073741824
chunk 1 0 bad\n
flush
error
END
is protocol_errors 3 || fail "protocol errors: $(counter protocol_errors)"
count protocol_errors 4 <<END
raw 474554202f20
closed
END
count tls_refused 1 <<END
raw 16030100
closed
END
wire <<END >"$dir/older" &
hello five 1 0
welcome
error
END
older=$!
wait_until grep -qs '^welcome ' "$dir/older"
count fenced 1 <<END
hello five 1 0
welcome
bye
END
wait $older || fail "no ERROR for the older connection: $(cat "$dir/older")"
lossy && fail "a loss where there was none: $(cat "$dir/shown")"
count discarded_records 7 <<END
hello six 1 0
welcome
discard 0 4096 7
ack
END
is discarded_ranges 1 || fail "discarded ranges"
logged 'ring [0-9a-f-]* gave up positions 0 to 4096 (7 records, .*): they waited longer than EXPIRE' || fail "no word of it"
lossy || fail "a range was given up, and no loss"
grep -q '! discarded_records ' "$dir/shown" || fail "$(cat "$dir/shown")"

# The file that everything goes to.
mv "$dir/out/all" "$dir/out/renamed"
count replaced_files 1 <<END
hello seven 1 0
welcome
stream 1 text f
chunk 1 0 anew\n
flush
ack
END
: >"$dir/out/all"
count changed_files 1 <<END
hello eight 1 0
welcome
stream 1 text f
chunk 1 0 again\n
flush
ack
END
rm "$dir/out/.k2hft/ledger"
wait_until is ledger_rewritten 1

# As many as CONNMAX allows, and one more. Who has not greeted would make room for it.
wait_until is connections_open 0
senders=
for number in 1 2 3; do
	wire <<-END >"$dir/crowd$number" &
		hello crowd$number 1 0
		welcome
		closed
	END
	senders="$senders $!"
	wait_until grep -qs '^welcome ' "$dir/crowd$number"
done
count refused_connections 1 <<END
hello crowd4 1 0
error
END
receiver_stop TERM
for sender in $senders; do
	wait "$sender" || fail "who was connected is not closed"
done

# A unified file that can't be written holds its senders, and says why.
rm -f "$dir/out/all"
mkdir "$dir/out/all"
receiver_start
wire <<END >"$dir/said" &
hello held 1 0
welcome
stream 1 text f
chunk 1 0 held\n
flush
ack
END
held=$!
wait_until is held_now 1
is held 1 || fail "held"
"$k2hft" stat --json "127.0.0.1:$control" | grep -q '"held": "Is a directory"' || fail "why it is held"
"$k2hft" stat "127.0.0.1:$control" | head -n 1 | grep -q ": 1 .* can't be written: .*: Is a directory" || fail "its verdict"
health() {
	python3 -c 'import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
connection.request("GET", "/health")
sys.exit(connection.getresponse().status != int(sys.argv[2]))' "$control" "$1"
}
health 503 || fail "it is healthy"
rmdir "$dir/out/all"
wait $held || fail "a held sender: $(cat "$dir/said")"
wait_until is held_now 0
health 200 || fail "it is not healthy again"

# Records that can't be stored.
receiver_stop TERM
config
ln -s nowhere "$dir/out/link"
receiver_start
count quarantined_chunks 1 <<END
hello nine 1 0
welcome
stream 1 text link
chunk 1 0 aside\n
flush
ack
END
is quarantined_bytes 6 || fail "quarantined bytes"
lossy || fail "quarantine is no loss"

# Killed, and what it had acknowledged is missing; more than it had acknowledged is there; its ledger is damaged, gone.
count records 2 <<END
hello ten 1 0
welcome
stream 1 text plain
chunk 1 0 plain\n
flush
ack
END
receiver_stop KILL
printf 'not acknowledged' >>"$dir/out/plain"
receiver_start
is cut_bytes 16 || fail "cut: $(counter cut_bytes)"
count records 1 <<END
hello ten 2 40
welcome
stream 1 text plain
chunk 1 0 again\n
flush
ack
END
receiver_stop KILL
: >"$dir/out/plain"
receiver_start
is short_files 1 || fail "short: $(counter short_files)"
receiver_stop KILL
printf 'damage' >>"$dir/out/.k2hft/ledger"
receiver_start
is ledger_damaged 1 || fail "damaged: $(counter ledger_damaged)"
receiver_stop TERM
rm "$dir/out/.k2hft/ledger"
receiver_start
count ledger_lost 1 <<END
hello ten 3 0
welcome
last
connect $port
hello ten 3 80
welcome
bye
END
lossy || fail "a lost ledger is no loss"
printf 'POST / HTTP/1.1\r\n\r\n' | timeout 20 python3 -c '
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.sendall(sys.stdin.buffer.read())
    s.recv(100)' "$control"
is status_refused 1 || fail "status_refused"
receiver_stop TERM
