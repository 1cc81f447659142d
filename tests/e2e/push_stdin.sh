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

for signal in INT TERM; do
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

# Who was connected once may wait for input as long as he likes.
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
