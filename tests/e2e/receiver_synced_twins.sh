#!/bin/sh
# SPDX-License-Identifier: MIT
# Three that take one ring from each other at level synced, on loops of their own: what one of them was acknowledged is there
# once. The thread sanitizer sees whether they look at what is the next one's already.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
sed -i 's/^SOCKTHREADCNT = .*/SOCKTHREADCNT = 3/' "$dir/conf"
receiver_start
twin() {
	for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		if wire >"$dir/said.$1" 2>&1 <<-END; then
			hello ring 1 0 3
			welcome
			stream 1 text f
			chunk 1 0 $1.$number\\n
			flush
			ack
		END
			echo "$1.$number" >>"$dir/acknowledged.$1"
		fi
	done
}
twin one &
one=$!
twin two &
two=$!
twin three
wait $one $two
cat "$dir"/acknowledged.* >"$dir/acknowledged" 2>/dev/null
[ -s "$dir/acknowledged" ] || fail "nobody was acknowledged anything: $(cat "$dir/said.three")"
receiver_stop TERM
while read -r line; do
	[ "$(grep -cx "$line" "$dir/out/f")" = 1 ] || fail "$line: $(grep -cx "$line" "$dir/out/f") times"
done <"$dir/acknowledged"
wc -l <"$dir/acknowledged"
