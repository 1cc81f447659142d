#!/bin/sh
# SPDX-License-Identifier: MIT
# A full disk: nothing is acknowledged, the sender is told, the receiver lives on, and when there is room again
# everything is there once.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
small_disk
head -c 1500000 /dev/zero >"$dir/out/ballast"
seq 1 1000000 | head -c 2500000 >"$dir/in"
receiver_config ""
receiver_start
wire >"$dir/said" 2>&1 <<END &
hello ring 1 0
welcome
stream 1 text f
frame 65536
file 1 $dir/in
status 2
ack
bye
closed
END
sender=$!
wait_until logged "hold: records of wirehost .* can't be written to f: No space left on device"
wait_until grep -q '^status 2' "$dir/said"
kill -0 "$pid" || fail "the receiver ended"
# Whole groups only: what is there is a beginning of what was sent.
cmp -n "$(stat -c %s "$dir/out/f")" "$dir/in" "$dir/out/f" || fail "file while full"
rm "$dir/out/ballast"
wait $sender || fail "sender: $(cat "$dir/said")"
cmp "$dir/in" "$dir/out/f" || fail "file at the end"
logged 'hold: records of wirehost .* are written again' || fail "no line about the end"
receiver_stop TERM
