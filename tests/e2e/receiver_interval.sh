#!/bin/sh
# SPDX-License-Identifier: MIT
# With FILE_SYNC = interval files and ledger get to the disk, though no sender waits for it; with none they don't.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
send() {
	sends "ring$1 1 0" f one
	grep -q 'level 2' "$dir/said" || fail "$(cat "$dir/said")"
}
synced() {
	kill -USR1 "$pid"
	logged ' syncs=[1-9]'
}
receiver_config 'FILE_SYNC = interval' 'FILE_SYNC_MS = 20'
receiver_start
send 1
wait_until synced
receiver_stop TERM
receiver_config 'FILE_SYNC = none'
receiver_start
send 2
receiver_stop TERM
! logged ' syncs=' || fail "synced without being asked"
