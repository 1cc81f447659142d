#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_UNIFY can be a symbolic link that stays below FILE_BASEDIR, also over deaths of the receiver, or a character
# device. A link that leads out is not followed: senders are held, and the log says why.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir -p "$dir/out/days" "$dir/other"
: >"$dir/out/days/monday"
ln -s days/monday "$dir/out/today"
receiver_config 'FILE_UNIFY = today'
receiver_start
sends 'ring 1 0' f one
receiver_stop KILL
printf 'half of a' >>"$dir/out/days/monday"
receiver_start
sends 'ring 1 0' f two
printf 'one\ntwo\n' | cmp - "$dir/out/days/monday" || fail "the link's file"

# The link leads elsewhere from now on.
: >"$dir/out/days/tuesday"
ln -sfn "$dir/out/days/tuesday" "$dir/out/today"
sleep 1
sends 'ring 1 0' f three
printf 'three\n' | cmp - "$dir/out/days/tuesday" || fail "the next day"

ln -sfn ../other/x "$dir/out/today"
: >"$dir/other/x"
sleep 1
sends 'ring 1 0' f four &
sender=$!
wait_until logged 'FILE_UNIFY today is a symbolic link that leads out of FILE_BASEDIR'
[ ! -s "$dir/other/x" ] || fail "a link that leads out was followed"
ln -sfn days/tuesday "$dir/out/today"
wait $sender || fail "the sender that was held"
printf 'three\nfour\n' | cmp - "$dir/out/days/tuesday" || fail "back again"
receiver_stop TERM

for level in 2 3; do
	receiver_config 'FILE_UNIFY = /dev/null' "FORMAT = '<%l>'"
	receiver_start
	sends "ring$level 1 0 $level" f five six seven
	receiver_stop KILL
	receiver_start
	sends "ring$level 1 0 $level" f eight
	! grep -q "can't" "$dir/log" || fail "an error at level $level"
	receiver_stop TERM
done
[ -c /dev/null ] || fail "/dev/null is gone"
receiver_config "FILE_UNIFY = $dir/other/x"
"$server" -conf "$dir/conf" 2>"$dir/refused" && fail "a file outside is taken"
grep -q 'must be below FILE_BASEDIR, so without / in front, or a character device' "$dir/refused" || fail "not refused so"
exit 0
