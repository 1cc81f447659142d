#!/bin/sh
# SPDX-License-Identifier: MIT
# LISTEN = :: takes senders of IPv6 and of IPv4.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
[ -e /proc/sys/net/ipv6/conf/lo ] || skip "no IPv6"
k2hft="${B:-build}/bin/k2hft"
decided() { logged 'listening on' || ! kill -0 "$pid" 2>/dev/null; }
for try in 1 2 3 4 5; do
	port=$((20000 + ($$ * 7 + try * 101) % 12000))
	receiver_config 'LISTEN = ::' '[SVRNODE]' 'NAME = localhost' "PORT = $port"
	"$server" -conf "$dir/conf" 2>"$dir/log" &
	pid=$!
	wait_until decided
	! grep -q 'Address already in use' "$dir/log" || continue
	break
done
for address in 127.0.0.1 '[::1]'; do
	echo "$address" | "$k2hft" push -q -r "$address:$port" -t "$address" --timeout 20 || fail "$address"
	echo "$address" | cmp - "$dir/out/$address" || fail "$address"
done
receiver_stop TERM
