#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft stat without a target shows the mounts, receivers and senders of this host.
. tests/tools/mount.sh
k2hft=$bin/k2hft
pushing=
trap 'code=$?; [ -z "$pushing" ] || kill "$pushing" 2>/dev/null; clean' EXIT

# Below those ports that the kernel gives away.
control=$((12000 + $$ * 7 % 8000))
while listens $control; do
	control=$((control + 1))
done
global_settings="
CTLPORT = $control"
start_receiver
start_mount
mkfifo "$work/fifo"
"$k2hft" push -r "127.0.0.1:$port" --ring "$work/ring" <"$work/fifo" 2>"$work/push.err" &
pushing=$!
exec 9>"$work/fifo"
echo record >&9
until_true 20 test -s "$work/ring" || fail "no ring"

# Other tests run on this host: each line that is looked for is one of this.
# shellcheck disable=SC2317
shows() { "$k2hft" stat 2>/dev/null | grep -F -- "$1" | head -n 1 | grep -q "$2"; }
until_true 20 shows "$mnt: " ': fine: nothing waits$' || fail "mount: $("$k2hft" stat 2>&1)"
until_true 20 shows "127.0.0.1:$control: " ': fine: 2 senders are connected$' || fail "receiver: $("$k2hft" stat 2>&1)"
until_true 20 shows "$work/ring: " ': fine: nothing waits$' || fail "ring: $("$k2hft" stat 2>&1)"
# A program that keeps its ring in memory: where it sends, and which it is.
"$k2hft" push -r "127.0.0.1:$port" <"$work/fifo" 9>&- 2>"$work/memory.err" &
memory=$!
exec 8>"$work/fifo"
until_true 20 shows "/proc/$memory/fd/" ': fine: nothing waits; the sender is k2hft$' || fail "memory: $("$k2hft" stat 2>&1)"
exec 8>&-
exec 9>&-
wait "$memory" || fail "status $? of k2hft push from memory"
wait "$pushing" || fail "status $? of k2hft push"
pushing=
stop_mount || fail "status $? of k2hftfuse"
exit 0
