#!/bin/sh
# SPDX-License-Identifier: MIT
# Killed again and again in the middle of streams, with senders that go on where WELCOME says: identical. A fast machine
# sees one kill in a stream, a slow one many.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
seq 1 20000000 | head -c 60000000 >"$dir/in"
receiver_start
grown() {
	[ "$(stat -c %s "$output" 2>/dev/null || echo 0)" -gt "$size" ] || ! kill -0 "$sender" 2>/dev/null
}
stream=0 kills=0
while [ $kills -lt 8 ] && [ $stream -lt 30 ]; do
	stream=$((stream + 1))
	output=$dir/out/f$stream
	"${B:-build}/tests/tools/wire_send" --resume "$port" "ring$stream" "f$stream" "$dir/in" 4 >"$dir/said" 2>&1 &
	sender=$!
	while [ $kills -lt 8 ] && kill -0 "$sender" 2>/dev/null; do
		size=$(stat -c %s "$output" 2>/dev/null || echo 0)
		wait_until grown
		if kill -0 "$sender" 2>/dev/null; then
			kills=$((kills + 1))
			receiver_stop KILL
			receiver_start
		fi
	done
	wait $sender || fail "sender: $(tail -3 "$dir/said")"
	cmp "$dir/in" "$output" || fail "not identical after $kills kills"
	rm "$output"
done
[ $kills -eq 8 ] || fail "only $kills kills in $stream streams"
