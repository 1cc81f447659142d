#!/bin/sh
# SPDX-License-Identifier: MIT
# The receiver comes later than the sender, goes and comes again in the middle, once by SIGKILL: the file is the same.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
receiver_stop TERM
seq -f '%09.0f' 1 3000000 >"$dir/in"
mkfifo "$dir/pipe"
"${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" --ring-size 1M -t out "$dir/pipe" 2>"$dir/push.log" &
pushing=$!
# Not for the receivers: the pipe ends with its last writer.
exec 3>"$dir/pipe"
head -c 10000000 "$dir/in" >&3 &
feeding=$!
receiver_start 3>&-
wait_until arrived out 1000000
receiver_stop KILL
receiver_start 3>&-
wait $feeding
wait_until arrived out 9000000
receiver_stop TERM
tail -c +10000001 "$dir/in" >&3 &
feeding=$!
receiver_start 3>&-
wait_until arrived out 15000000
receiver_stop KILL
receiver_start 3>&-
wait $feeding
# A receiver that takes its time for the end is waited for.
kill -STOP "$pid"
echo end | tee -a "$dir/in" >&3
exec 3>&-
sleep 1
kill -0 $pushing || fail "it does not wait"
kill -CONT "$pid"
wait $pushing || fail "push: $(cat "$dir/push.log")"
cmp "$dir/in" "$dir/out/out" || fail "it differs"
