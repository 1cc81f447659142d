#!/bin/sh
# SPDX-License-Identifier: MIT
# Standard input: lines arrive while the writer lives, a rest without line end when it ends; an interrupt ends the
# reading and loses nothing of what was read; an input may rest.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
push="${B:-build}/bin/k2hft push -q -r 127.0.0.1:$port"
mkfifo "$dir/pipe"
$push <"$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
printf 'first\nsec' >&3
printf 'first\n' >"$dir/expected"
wait_until cmp -s "$dir/expected" "$dir/out/stdin"
printf 'ond\nrest' >&3
printf 'second\n' >>"$dir/expected"
wait_until cmp -s "$dir/expected" "$dir/out/stdin"
exec 3>&-
wait $pushing || fail "push"
printf rest >>"$dir/expected"
cmp "$dir/expected" "$dir/out/stdin" || fail "the rest"

for signal in INT TERM HUP; do
	$push -t interrupted.$signal <"$dir/pipe" 2>"$dir/errors" &
	pushing=$!
	exec 3>"$dir/pipe"
	printf 'one\ntwo' >&3
	printf 'one\n' >"$dir/expected"
	wait_until cmp -s "$dir/expected" "$dir/out/interrupted.$signal"
	kill -$signal $pushing
	wait $pushing || fail "status of a push interrupted by SIG$signal"
	exec 3>&-
	printf two >>"$dir/expected"
	cmp "$dir/expected" "$dir/out/interrupted.$signal" || fail "interrupted by SIG$signal"
	grep -q 'interrupted: what was read is sent' "$dir/errors" || fail "SIG$signal: $(cat "$dir/errors")"
done

# A sender that was connected once may wait for input for ever.
$push --timeout 1 -t late <"$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
echo one >&3
echo one >"$dir/expected"
wait_until cmp -s "$dir/expected" "$dir/out/late"
sleep 1.5
echo two | tee -a "$dir/expected" >&3
exec 3>&-
wait $pushing || fail "an input that rests"
cmp "$dir/expected" "$dir/out/late" || fail "what came after a rest"

# A terminal that goes says so twice: by then the receiver need not have answered.
$push -t hung <"$dir/pipe" 2>"$dir/errors" &
pushing=$!
exec 3>"$dir/pipe"
echo one >&3
wait_until arrived hung 4
kill -STOP "$pid"
echo two >&3
pipe_drained
kill -HUP $pushing
sleep 0.2
kill -HUP $pushing
sleep 0.5
kill -CONT "$pid"
wait $pushing || fail "status $? after two SIGHUP: $(cat "$dir/errors")"
exec 3>&-
printf 'one\ntwo\n' | cmp - "$dir/out/hung" || fail "what was sent after two SIGHUP"

# nohup(1) is heeded.
nohup "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" -t alone <"$dir/pipe" >"$dir/output" 2>&1 &
pushing=$!
exec 3>"$dir/pipe"
echo one >&3
wait_until arrived alone 4
kill -HUP $pushing
sleep 0.5
echo two >&3
exec 3>&-
wait $pushing || fail "status $? of a push with nohup"
printf 'one\ntwo\n' | cmp - "$dir/out/alone" || fail "what was sent after SIGHUP"
