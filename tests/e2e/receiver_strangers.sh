#!/bin/sh
# SPDX-License-Identifier: MIT
# A peer that connects and does not greet keeps nobody out: with as many as CONNMAX allows, the one that came first gives way. Who
# has greeted stays.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control
receiver_config 'CONNMAX = 3' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
mkfifo "$dir/pipe"
wire <"$dir/pipe" >"$dir/greeted" &
greeted=$!
exec 3>"$dir/pipe"
printf '%s\n' 'hello greeted 1 0' welcome 'stream 1 text a' 'chunk 1 0 one\n' flush ack >&3
wait_until grep -q '^ack' "$dir/greeted"
for number in 1 2; do
	(
		exec 3>&-
		echo closed | wire >"$dir/mute$number"
	) &
	wait_until is connections_open $((number + 1))
done

for number in 1 2 3; do
	sends "ring$number 1 0" b$number more
	echo more | cmp - "$dir/out/b$number" || fail "file $number"
done
wait_until grep -q '^closed' "$dir/mute1"
logged 'refused: there are as many connections as CONNMAX allows, and it has not greeted' || fail "no word of it"
above refused_connections 0 || fail "not counted"
printf '%s\n' 'chunk 1 0 two\n' flush ack bye >&3
exec 3>&-
wait "$greeted" || fail "who had greeted: $(cat "$dir/greeted")"
printf 'one\ntwo\n' | cmp - "$dir/out/a" || fail "file of who had greeted"

# Whichever thread has the mute one. It may just be on its way there, and who is told to tries again.
greet() { printf '%s\n' "hello one$number 1 0" welcome bye | wire >"$dir/said"; }
receiver_stop TERM
receiver_config 'CONNMAX = 1' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
for number in 1 2 3; do
	echo closed | wire >"$dir/mute$number" &
	wait_until is connections_open 1
	greet || greet || fail "the only one: $(cat "$dir/said")"
	wait_until grep -q '^closed' "$dir/mute$number"
	wait_until is connections_open 0
done

# Nobody else is on that thread either, so it is the only one who could give way.
receiver_stop TERM
sed -i 's/^SOCKTHREADCNT = .*/SOCKTHREADCNT = 1/' "$dir/conf"
receiver_start
printf '%s\n' 'hello alone 1 0' welcome closed | wire >"$dir/alone" &
wait_until grep -qs '^welcome' "$dir/alone"
printf '%s\n' 'hello other 1 0' error closed | wire >"$dir/said" || fail "who came second: $(cat "$dir/said")"
grep -q '^error 6 too many senders are connected: CONNMAX' "$dir/said" || fail "$(cat "$dir/said")"
wait_until is connections_open 1
receiver_stop TERM
wait
grep -q '^closed' "$dir/alone" || fail "the only one is not closed at the end"
