#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that is told to end while the disk does not answer acknowledges what a sender of level synced has sent when the
# disk has it, and not before.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/slow_sync.inc
. tests/tools/slow_sync.inc
receiver_config ''
slow_sync slow
: >"$dir/hold"
receiver_start
printf '%s\n' 'hello ring 1 0 3' welcome 'stream 1 text slow' 'chunk 1 0 one\n' flush ack closed | wire >"$dir/said" 2>&1 &
sender=$!
wait_until test -e "$dir/asked"
kill -TERM "$pid"
# It listens no more when it has begun to end; then its threads are told.
not_listening() { ! grep -q ":$(printf '%04X' "$port") 00000000:0000 0A" /proc/net/tcp; }
wait_until not_listening
sleep 0.5
! grep -q '^ack' "$dir/said" || fail "acknowledged, and the disk has not answered"
kill -0 "$pid" || fail "it did not wait for the disk"
rm "$dir/hold"
wait $sender || fail "the sender: $(cat "$dir/said")"
grep -q '^ack 40$' "$dir/said" || fail "not acknowledged: $(cat "$dir/said")"
wait "$pid" || fail "status $? of the receiver"
pid=
printf 'one\n' | cmp - "$dir/out/slow" || fail "its file"
