#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_BASEDIR is moved away: that is said once, records go on to where it is now, and to the one that takes its place.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config "STATEDIR = $dir/state"
receiver_start
position=0
send() {
	sends "ring 1 $position" file "$1"
	position=$((position + 40))
}
send one
mv "$dir/out" "$dir/moved"
wait_until logged "output: $dir/out can't be opened any more: No such file"
send two
printf 'one\ntwo\n' | cmp - "$dir/moved/file" || fail "moved"
sleep 3
[ "$(grep -c "can't be opened any more" "$dir/log")" = 1 ] || fail "more than once"
mkdir "$dir/out"
wait_until logged "output: $dir/out is another directory now"
send three
echo three | cmp - "$dir/out/file" || fail "the new one"
printf 'one\ntwo\n' | cmp - "$dir/moved/file" || fail "moved, at the end"
mv "$dir/out" "$dir/again"
again() { [ "$(grep -c "can't be opened any more" "$dir/log")" = 2 ]; }
wait_until again
receiver_stop TERM
