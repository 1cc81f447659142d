#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file: what a push that was killed had read is sent by the next, once.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
receiver_stop TERM
push="${B:-build}/bin/k2hft push -q -r 127.0.0.1:$port --ring $dir/ring"
seq 1 200000 >"$dir/in"

# Killed before the receiver was there. What it read before its last read is in the ring.
mkfifo "$dir/pipe"
$push -t killed "$dir/pipe" 2>"$dir/push.log" &
pushing=$!
exec 3>"$dir/pipe"
cat "$dir/in" >&3
pipe_drained
echo last >&3
pipe_drained
kill -KILL $pushing
wait $pushing
exec 3>&-
if "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/ring" --timeout 0 </dev/null 2>"$dir/errors"; then
	fail "push without a receiver says that all is acknowledged"
fi
grep -qE 'records? (is|are) not acknowledged' "$dir/errors" || fail "$(cat "$dir/errors")"
receiver_start
$push </dev/null || fail "push of what remained"
cp "$dir/out/killed" "$dir/once"
grep -vx last "$dir/once" | cmp "$dir/in" - || fail "after a kill it differs"
$push </dev/null || fail "push of nothing"
cmp "$dir/once" "$dir/out/killed" || fail "something came again"

# Killed while it sends: a beginning of the input, whole lines, none twice.
seq -f '%09.0f' 1 5000000 >"$dir/in"
$push -t middle "$dir/in" &
pushing=$!
wait_until arrived middle 100000
kill -KILL $pushing
wait $pushing
$push </dev/null || fail "push of what remained in the middle"
bytes=$(stat -c %s "$dir/out/middle")
[ $((bytes % 10)) = 0 ] || fail "a line is cut"
cmp -n "$bytes" "$dir/in" "$dir/out/middle" || fail "in the middle it differs"
# The ring's file is in use: another sender is told so.
mkfifo "$dir/second"
$push "$dir/second" &
pushing=$!
exec 3>"$dir/second"
in_use() { ! $push </dev/null 2>"$dir/errors"; }
wait_until in_use
grep -q 'another process' "$dir/errors" || fail "$(cat "$dir/errors")"
exec 3>&-
wait $pushing || fail "the first sender"
