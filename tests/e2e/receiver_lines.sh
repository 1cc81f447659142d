#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines about a peer that connects time and again, here while nothing can be written, have a limit for its address.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir -p "$dir/out/unify"
receiver_control
receiver_config 'FILE_UNIFY = unify' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
count=0
while [ $count -lt 250 ]; do
	count=$((count + 1))
	printf '%s\n' "hello ring$count 1 0" welcome 'stream 1 text f' 'chunk 1 0 a\n' flush 'status 3'
done | sed "s/^hello/connect $port\n&/" | "${B:-build}/tests/tools/wire_send" >"$dir/said" || fail "$(cat "$dir/said")"
is held 250 || fail "$(counter held) were held"
wait_until logged ' disconnected at '
receiver_stop TERM
for kind in ' connected, ring ' ' disconnected at ' "hold: records of .* can't be written to unify: Is a directory"; do
	lines=$(grep -c "$kind" "$dir/log")
	[ "$lines" -gt 0 ] || fail "no line: $kind"
	[ "$lines" -lt 250 ] || fail "$lines lines: $kind"
done
