#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples do what they say.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
examples=${B:-build}/examples
[ -x "$examples/smallest_sender" ] || skip "the examples are not built here"
receiver_config ""
receiver_start
"$examples/smallest_sender" 127.0.0.1 "$port" 'the smallest' || fail "smallest_sender"
echo 'the smallest' | cmp - "$dir/out/examples/smallest.log" || fail "smallest.log"
seq 1 100000 >"$dir/in"
printf 'no line end' >>"$dir/in"
"$examples/poll_loop_sender" 127.0.0.1 "$port" poll/loop.log <"$dir/in" || fail "poll_loop_sender"
cmp "$dir/in" "$dir/out/poll/loop.log" || fail "loop.log"
"$examples/threads_sender" 127.0.0.1 "$port" "$dir/ring" || fail "threads_sender"
for thread in 0 1 2 3; do
	seq -f "thread $thread record %.0f" 0 999 >"$dir/expected"
	grep "^thread $thread " "$dir/out/examples/threads.log" | cmp - "$dir/expected" || fail "thread $thread"
done
# A sender that stays, and a process that attaches to its ring.
mkfifo "$dir/pipe"
"${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/attached" -t pushed "$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
echo pushed >&3
wait_until [ -s "$dir/out/pushed" ]
"$examples/attach_ring" "$dir/attached" attached.log <"$dir/in" || fail "attach_ring"
cmp "$dir/in" "$dir/out/attached.log" || fail "attached.log"
exec 3>&-
wait $pushing || fail "push"
"$examples/attach_ring" "$dir/attached" attached.log <"$dir/in" 2>/dev/null && fail "attached to a ring without a sender"
"$examples/smallest_sender" 2>/dev/null && fail "no arguments"
exit 0
