#!/bin/sh
# SPDX-License-Identifier: MIT
# A ledger that is damaged or gone does not stop the receiver: it says so, keeps files as they are, and the sender's own
# position counts. One that is removed while the receiver runs is written again. An older copy in its place costs nothing
# that was acknowledged.
# The log says also if the damaged one can't be kept.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
ledger=$dir/out/.k2hft/ledger
receiver_config ""
receiver_start
wire >"$dir/said" <<END || fail "sending"
hello ring 1 0
welcome
stream 1 text f
chunk 1 0 one\n
flush
ack
chunk 1 0 two\n
flush
ack
END
receiver_stop KILL
# The second commit's record.
offset=$(($(od -An -v -tx1 -w8 "$ledger" | grep -n '[1-9a-f]' | tail -1 | cut -d: -f1) * 8 - 12))
printf '\125' | dd of="$ledger" bs=1 seek=$offset conv=notrunc 2>/dev/null
receiver_start
logged 'ledger: record [0-9]* of .* is damaged.* the damaged one stays as ledger.damaged;' || fail "damage not noticed"
[ -e "$ledger.damaged" ] || fail "the damaged ledger was not kept"
printf 'one\ntwo\n' | cmp - "$dir/out/f" || fail "acknowledged data was cut"
sends 'ring 1 80' f three
grep -q '^welcome position 80 known' "$dir/said" || fail "$(cat "$dir/said")"

rm "$ledger"
wait_until test -s "$ledger"
wait_until logged 'somebody removed or cut it'
receiver_stop KILL
receiver_start
printf 'hello ring 1 80\nwelcome\n' | wire | grep -q '^welcome position 120 known' || fail "the ledger was not written again"
printf 'one\ntwo\nthree\n' | cmp - "$dir/out/f" || fail "file at the end"

cp "$ledger" "$dir/older"
sends 'ring 1 120' f four
receiver_stop KILL
mv "$dir/older" "$ledger"
receiver_start
logged 'ledger is a copy' || fail "the copy was not noticed"
printf 'one\ntwo\nthree\nfour\n' | cmp - "$dir/out/f" || fail "what was acknowledged since the copy was cut"
printf 'hello ring 1 160\nwelcome\n' | wire | grep -q '^welcome position 160 known' || fail "the copy counts"

receiver_stop KILL
cp "$ledger" "$dir/good"
echo damaged >"$ledger"
rm -f "$ledger.damaged"
mkdir "$ledger.damaged"
receiver_start
logged "the damaged one can't be kept as ledger.damaged: File exists; senders" || fail "what became of the damaged one"
receiver_stop KILL
rmdir "$ledger.damaged"
mv "$dir/good" "$ledger"
receiver_start

# The log says that a ledger can't be written again, as long as that lasts.
mv "$dir/out/.k2hft" "$dir/out/moved"
: >"$dir/out/.k2hft"
wait_until logged "it can't be written again: Not a directory"
rm "$dir/out/.k2hft"
wait_until test -s "$ledger"
receiver_stop TERM
rm "$ledger"
receiver_start
printf 'hello ring 1 160\nwelcome\n' | wire | grep -q '^welcome position 160 new' || fail "start without ledger"
