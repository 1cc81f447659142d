#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify --make ends by SIGTERM though its ring is full and nobody receives; it says how many records it wrote,
# and these are in the ring file, all of them.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
receiver_config ''
receiver_start
receiver_stop TERM
cat >"$dir/slave.ini" <<END
[GLOBAL]
PORT = $port
[SVRNODE]
NAME = 127.0.0.1
[K2HFTFUSE]
K2HTYPE = file
K2HINIT = no
K2HFILE = $dir/ring
RINGSIZE = 256K
END
for round in 1 2 3; do
	"$k2hft" verify --make -c "$dir/slave.ini" -t "round$round" --producers 2 --timeout 0 -n 10000000 --table \
		>"$dir/made$round" 2>"$dir/error$round" &
	maker=$!
	# Full, or nearly so, is what the ring is when the connection was refused.
	wait_until grep -q refused "$dir/error$round"
	kill -TERM $maker
	wait $maker
	status=$?
	[ $status = 1 ] || fail "status $status"
	grep -q "records are not acknowledged: .*; they are in $dir/ring$" "$dir/error$round" || fail "$(cat "$dir/error$round")"
	receiver_start
	"$k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/ring" </dev/null || fail "what is in the ring"
	receiver_stop TERM
	written=no
	for producer in 1 2; do
		last=$(awk -v p=$producer '$2 == p { print $4 }' "$dir/made$round")
		# One of both can have filled the ring.
		[ "$last" -gt 0 ] || continue
		written=yes
		reads 0 --only --expect $producer="$last" "$dir/out/round$round.$producer"
	done
	[ $written = yes ] || fail "nothing was written"
done
