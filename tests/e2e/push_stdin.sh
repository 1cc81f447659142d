#!/bin/sh
# SPDX-License-Identifier: MIT
# Standard input: lines arrive while the writer lives, a rest without line end when it ends; an interrupt ends the
# reading and loses nothing of what was read.
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

$push -t interrupted <"$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
printf 'one\ntwo' >&3
printf 'one\n' >"$dir/expected"
wait_until cmp -s "$dir/expected" "$dir/out/interrupted"
kill -INT $pushing
wait $pushing || fail "status of an interrupted push"
exec 3>&-
printf two >>"$dir/expected"
cmp "$dir/expected" "$dir/out/interrupted" || fail "interrupted"
