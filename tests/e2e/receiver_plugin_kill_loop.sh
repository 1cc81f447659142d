#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver with a plug-in is killed again and again: every record reaches the plug-in, whole, and those of the ledger
# once; what a plug-in had read and the ledger had not comes again.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config 'PLUGIN = /bin/cat'
receiver_start
awk 'BEGIN { for (i = 1; i <= 1000000; i++) printf "line %07d of many\n", i }' >"$dir/in"
"${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" -t f "$dir/in" 2>"$dir/said" &
pushing=$!
for _ in 1 2 3 4 5; do
	sleep 0.05
	receiver_stop KILL
	receiver_start
done
wait "$pushing" || fail "push: $(cat "$dir/said")"
receiver_stop TERM
sort -u "$dir/out/f" | cmp - "$dir/in" || fail "records"
