#!/bin/sh
# SPDX-License-Identifier: MIT
# The fates of a ring's records are counted in it, whoever feeds and sends it; k2hft stat reads it from its file.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
pushing=
holding=
trap 'code=$?; [ -z "$pushing$holding" ] || kill $pushing $holding 2>/dev/null; receiver_cleanup; exit $code' EXIT
bin=${B:-build}/bin
tools=${B:-build}/tests/tools

# counter RING NAME
counter() { counted "$dir/$1" "ring_$2"; }
is() { [ "$(counter "$1" "$2")" = "$3" ]; }
above() { [ "$(counter "$1" "$2")" -gt "$3" ]; }
lossy() { losing "$dir/$1" "$dir/shown"; }
# push RING OPTION...
push() {
	ring=$1
	shift
	"$bin/k2hft" push -r "127.0.0.1:$port" --ring "$dir/$ring" "$@" 2>>"$dir/pushed"
}

receiver_config ""
receiver_start
seq 1 200000 >"$dir/numbers"
head -c 5000000 /dev/zero | tr '\0' x >"$dir/long"

# Everything as it should be, but that frames are compressed and a record is cut.
"$tools/library_send" "$port" long lines "$dir/long" "$dir/cut" || fail "a long record"
is cut pieces 25 || fail "pieces: $(counter cut pieces)"
push good --compress always -t numbers "$dir/numbers" || fail "$(cat "$dir/pushed")"
above good compressed_frames 0 || fail "no compressed frames"
above good sent_frames 0 || fail "no frames"
is good sent_records 200000 || fail "sent records"
above good sent_bytes 0 || fail "no bytes"
is good committed_bytes "$(stat -c %s "$dir/numbers")" || fail "committed bytes: $(counter good committed_bytes)"
is good acked_records 200000 || fail "acknowledged records"
is good connects 1 || fail "connects"
is good epoch 1 || fail "epoch"
is good unacked_records 0 || fail "unacknowledged records"
for ring in good cut; do
	lossy $ring && fail "a loss: $(cat "$dir/shown")"
done

# Frames on their way when the receiver dies go again.
mkfifo "$dir/pipe"
"$bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/again" -t again "$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
echo one >&3
wait_until is again acked_records 1
is again producers 1 || fail "producers: $(counter again producers)"
is again streams 1 || fail "streams: $(counter again streams)"
kill -STOP "$pid"
sent=$(counter again sent_frames)
echo two >&3
wait_until above again sent_frames "$sent"
receiver_stop KILL
receiver_start 3>&-
wait_until above again resent_frames 0
wait_until is again acked_records 2

# A claim whose owner dies, and a record of no stream.
"$tools/ring_client" "$dir/again" hold again >"$dir/held" 3>&- <<END &
three
END
holding=$!
wait_until test -s "$dir/held"
claims=$(counter again discarded_claims)
kill -9 $holding
wait $holding 2>/dev/null
holding=
wait_until above again discarded_claims "$claims"
is again unknown_records 0 || fail "unknown records"
lossy again && fail "a loss: $(cat "$dir/shown")"
"$tools/ring_client" "$dir/again" spoiled || fail "a record of no stream"
wait_until is again unknown_records 1
above again discarded_ranges 0 || fail "no discarded range"
lossy again || fail "no loss"
exec 3>&-
wait $pushing
code=$?
[ $code = 1 ] || fail "status $code of push, which has given up a record"
pushing=
printf 'one\ntwo\nthree\n' | cmp - "$dir/out/again" || fail "what arrived"

# Without a receiver: attempts, and writes that are refused.
receiver_stop TERM
"$tools/library_send" "$port" refused refused "$dir/numbers" "$dir/refused" || fail "no write is refused"
is refused refused_writes 1 || fail "refused writes: $(counter refused refused_writes)"
push refused --timeout 1 </dev/null && fail "acknowledged by nobody"
wait_until above refused connect_failures 0
lossy refused && fail "a loss: $(cat "$dir/shown")"

# Damage in what waits.
above refused unacked_records 0 || fail "nothing waits"
above refused used_bytes 500000 || fail "the ring is full, and used bytes are $(counter refused used_bytes)"
is refused ring_bytes 1048576 || fail "ring bytes: $(counter refused ring_bytes)"
python3 - "$dir/refused" <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as ring:
    def place(at):
        ring.seek(at)
        return struct.unpack("=Q", ring.read(8))[0]
    # capacity, begin of the data, head
    ring.seek(place(40) + place(384) % place(32))
    ring.write(bytes(8))
END
receiver_start
push refused </dev/null || fail "$(cat "$dir/pushed")"
above refused damaged_bytes 0 || fail "no damage"
above refused repaired_places 0 || fail "nothing repaired"
above refused discarded_ranges 0 || fail "no discarded range for what was damaged"
is refused unacked_records 0 || fail "what was damaged waits for ever: $(counter refused unacked_records)"

# A receiver that has lost its ledger, and one that wants nobody.
receiver_stop TERM
rm "$dir/out/.k2hft/ledger"
receiver_start
is good ledger_lost 0 || fail "ledger lost"
echo more | push good -t numbers || fail "$(cat "$dir/pushed")"
is good ledger_lost 1 || fail "ledger lost: $(counter good ledger_lost)"
lossy good || fail "a lost ledger is no loss"
receiver_stop TERM
printf '%s\n' '[SLVNODE]' 'NAME = 192.0.2.1' >>"$dir/conf"
receiver_start
is good refusals 0 || fail "refusals"
# How long that takes is the machine's business.
for timeout in 2 10 50; do
	echo more | push good -t numbers --timeout $timeout && fail "not refused"
	! above good refusals 0 || break
done
above good refusals 0 || fail "no refusal"
above good unacked_records 0 || fail "what was refused does not wait"
receiver_stop TERM
