#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that was killed, and one of whose files somebody renames before it starts again, as rotation does: that is no
# disk that has lost a file. Senders of level synced go on where they were, and no record of another file comes twice.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/slow_sync.inc
. tests/tools/slow_sync.inc
receiver_config ""
slow_sync first
receiver_start

# says RING EPOCH LEVEL STREAM LINE END...
says() {
	head="hello $1 $2 0 $3" stream=$4 line=$5
	shift 5
	printf '%s\n' "$head" welcome "stream 1 text $stream" "chunk 1 0 $line\\n" flush "$@" | wire >"$dir/said" 2>&1 ||
		fail "$(cat "$dir/said")"
}

says renamed 1 3 first one ack close
: >"$dir/hold"
says renamed 2 3 first two close
wait_until arrived first 8
# Not deferred, since one of its senders does not wait for the disk: it is not cut back, whatever its rings go back to.
says written 1 2 shared three ack close
says synced 1 3 shared four close
wait_until arrived shared 11
wait_until logged 'disconnected at 40: 1 records, 5 bytes'
receiver_stop KILL
rm "$dir/hold"
mv "$dir/out/first" "$dir/out/first.1"
receiver_start
! logged 'files are gone' || fail "a renamed file is taken for one that was lost"
printf '%s\n' 'hello synced 2 0 3' welcome bye | wire >"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^welcome position 40 known level 3' "$dir/said" || fail "$(cat "$dir/said")"
printf 'three\nfour\n' | cmp - "$dir/out/shared" || fail "another file"
printf 'one\ntwo\n' | cmp - "$dir/out/first.1" || fail "the renamed file"
receiver_stop TERM
