#!/bin/sh
# SPDX-License-Identifier: MIT
# However large a ledger has become, the receiver that wrote it can start again.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -lt 8000000 ]; then
	skip "less than 8 GB of memory"
fi
receiver_config ""
start_looks=2000
receiver_start
sends 'ring 1 0' f one
receiver_stop TERM
truncate -s 1100M "$dir/out/.k2hft/ledger"
receiver_start
printf 'hello ring 1 40\nwelcome\n' | wire | grep -q '^welcome position 40 known' || fail "the ring is not known"
[ "$(stat -c %s "$dir/out/.k2hft/ledger")" -lt 2000000 ] || fail "it is not written anew"
receiver_stop TERM
