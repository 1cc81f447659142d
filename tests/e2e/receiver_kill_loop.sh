#!/bin/sh
# SPDX-License-Identifier: MIT
# Killed again and again in the middle of a stream, with a sender that goes on where WELCOME says: identical.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
seq 1 20000000 | head -c 60000000 >"$dir/in"
receiver_start
"${B:-build}/tests/tools/wire_send" --resume "$port" ring f "$dir/in" >"$dir/said" 2>&1 &
sender=$!
grown() {
	[ "$(stat -c %s "$dir/out/f" 2>/dev/null || echo 0)" -gt "$size" ] || ! kill -0 $sender 2>/dev/null
}
round=0
while [ $round -lt 12 ] && kill -0 $sender 2>/dev/null; do
	round=$((round + 1))
	size=$(stat -c %s "$dir/out/f" 2>/dev/null || echo 0)
	wait_until grown
	receiver_stop KILL
	receiver_start
done
wait $sender || fail "sender: $(tail -3 "$dir/said")"
cmp "$dir/in" "$dir/out/f" || fail "not identical after $round kills"
[ $round -ge 3 ] || fail "only $round kills: it was too fast to mean anything"
