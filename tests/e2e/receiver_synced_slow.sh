#!/bin/sh
# SPDX-License-Identifier: MIT
# Senders of level synced that come again or leave while the disk does not answer keep nobody else waiting; the status says
# where one that waits will go on.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/slow_sync.inc
. tests/tools/slow_sync.inc
receiver_control
receiver_config 'CONNMAX = 2' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
sed -i 's/^SOCKTHREADCNT.*/SOCKTHREADCNT = 1/' "$dir/conf"
slow_sync slow
: >"$dir/hold"
receiver_start
printf '%s\n' 'hello ring 1 0 3' welcome 'stream 1 text slow' 'chunk 1 0 one\n' flush close | wire >"$dir/first" ||
	fail "$(cat "$dir/first")"
wait_until arrived slow 4
wait_until is connections_open 0
printf '%s\n' 'hello ring 2 0 3' welcome 'stream 1 text slow' 'chunk 1 0 two\n' flush ack bye | wire >"$dir/again" 2>&1 &
again=$!
wait_until is connections_open 1
goes_on() { "${B:-build}/bin/k2hft" stat --json "127.0.0.1:$control" | grep -q '"position": 40\b'; }
wait_until goes_on
printf '%s\n' 'hello leaves 1 0 3' welcome 'stream 1 text leaves' 'chunk 1 0 four\n' flush bye | wire >"$dir/leaves" 2>&1 ||
	fail "the one that leaves: $(cat "$dir/leaves")"
left() { [ "$(grep -c ' disconnected at 40: 1 records' "$dir/log")" = 2 ]; }
wait_until left
# A sender that waits so has greeted: others give way.
wait_until is connections_open 1
echo closed | wire >"$dir/mute" &
wait_until is connections_open 2
printf '%s\n' 'hello other 1 0' welcome 'stream 1 text other' 'chunk 1 0 three\n' flush ack bye | wire >"$dir/other" 2>&1 ||
	fail "the other sender: $(cat "$dir/other")"
[ ! -s "$dir/again" ] || fail "welcome, and the disk has not answered: $(cat "$dir/again")"
wait_until grep -q '^closed' "$dir/mute"
arrived leaves 5 || fail "what the one that left has sent"
rm "$dir/hold"
wait $again || fail "the one that came again: $(cat "$dir/again")"
grep -q '^welcome position 40 known level 3' "$dir/again" || fail "$(cat "$dir/again")"
printf 'one\ntwo\n' | cmp - "$dir/out/slow" || fail "its file"
receiver_stop TERM
