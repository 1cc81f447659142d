#!/bin/sh
# SPDX-License-Identifier: MIT
# A start on a full disk waits until there is room, and outlives what asks it for something meanwhile, whom CTLPORT refuses
# at once; SIGTERM ends it.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
small_disk
receiver_control
receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
asks() { "${B:-build}/bin/k2hft" stat "127.0.0.1:$control" >"$dir/shown" 2>&1; }

begin() {
	head -c 3800000 /dev/zero >"$dir/out/ballast"
	: >"$dir/log"
	"$server" -conf "$dir/conf" --listen 127.0.0.1:0 2>"$dir/log" &
	pid=$!
	wait_until logged 'ledger: no room in .*; the receiver waits for it'
}
begin
kill -HUP "$pid"
kill -USR1 "$pid"
! asks || fail "it answers"
grep -q "Connection refused: the receiver answers .*, once it has started" "$dir/shown" || fail "$(cat "$dir/shown")"
! logged 'answering HTTP' || fail "it says that it answers"
rm "$dir/out/ballast"
wait_until receiver_ready
logged "status: answering HTTP on 127\.0\.0\.1:$control" || fail "not a word of CTLPORT"
asks || fail "no answer: $(cat "$dir/shown")"
kill -USR1 "$pid"
wait_until logged counters:
kill -HUP "$pid"
wait_until logged 'SIGHUP: '
receiver_stop TERM

rm -r "$dir/out/.k2hft"
begin
kill "$pid"
wait "$pid" && fail "it began"
pid=
! logged 'listening on' || fail "it listened"
