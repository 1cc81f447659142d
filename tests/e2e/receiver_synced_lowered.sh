#!/bin/sh
# SPDX-License-Identifier: MIT
# A sender that waited for the disk comes again, and waits no longer: what WELCOME acknowledges to it, a receiver that is
# killed keeps, also in a file that was rotated meanwhile.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/slow_sync.inc
. tests/tools/slow_sync.inc
receiver_config ""
says() {
	printf '%s\n' "$@" | wire >"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
}
slow_sync file
receiver_start
says 'hello ring 1 0 3' welcome 'stream 1 text file' 'chunk 1 0 one\n' flush ack close
: >"$dir/hold"
says 'hello ring 2 40 3' welcome 'stream 1 text file' 'chunk 1 0 two\n' flush close
wait_until arrived file 8
wait_until logged ' disconnected at 80: '
receiver_stop KILL
rm "$dir/hold"
receiver_start
says 'hello ring 3 40 2' welcome bye
grep -q '^welcome position 80 known level 2' "$dir/said" || fail "$(cat "$dir/said")"
mv "$dir/out/file" "$dir/out/file.1"
receiver_stop KILL
receiver_start
printf 'one\ntwo\n' | cmp - "$dir/out/file.1" || fail "what was acknowledged is gone"
says 'hello ring 4 80 2' welcome bye
grep -q '^welcome position 80 known level 2' "$dir/said" || fail "$(cat "$dir/said")"
