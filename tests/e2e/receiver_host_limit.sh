#!/bin/sh
# SPDX-License-Identifier: MIT
# CONNMAXHOST: one host has no more connections than that, whoever has not greeted aside; who comes again with the same ring
# takes the place of the connection before.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control
receiver_config 'CONNMAXHOST = 2' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
echo closed | wire >"$dir/mute" &
wait_until is connections_open 1
for number in 1 2; do
	printf '%s\n' "hello kept$number 1 0" welcome closed | wire >"$dir/kept$number" &
	wait_until grep -qs '^welcome' "$dir/kept$number"
done
printf '%s\n' 'hello more 1 0' error closed | wire >"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^error 6 too many senders of one host are connected: CONNMAXHOST' "$dir/said" || fail "$(cat "$dir/said")"
logged 'refused: too many senders of one host' || fail "no word of it"
is refused_connections 1 || fail "not counted"

sends 'kept1 1 0' a one
wait_until grep -q '^closed' "$dir/kept1"
# The mute one is closed after 10 s, which can be over by now.
one_kept() { is connections_open 2 || { grep -q '^closed' "$dir/mute" && is connections_open 1; }; }
wait_until one_kept
printf '%s\n' 'hello more 1 0' welcome bye | wire >"$dir/said" || fail "with room again: $(cat "$dir/said")"
receiver_stop TERM
wait
for name in mute kept2; do
	grep -q '^closed' "$dir/$name" || fail "$name is not closed at the end"
done
