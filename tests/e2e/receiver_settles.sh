#!/bin/sh
# SPDX-License-Identifier: MIT
# A sender that went on at another receiver comes again: what this one had not acknowledged is cut off, or, where others
# wrote behind it or the file was renamed, named in STATEDIR/retracted; also after the receiver was killed, and only once.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control
receiver_config "[SVRNODE]" "NAME = localhost" "CTLPORT = $control"
receiver_start
list=$dir/out/.k2hft/retracted

# The sender knows of the first acknowledgement, and not of the two commits behind it.
half_sent() {
	printf '%s\n' "hello $1 1 0" welcome "stream 1 text $2" 'chunk 1 0 one\n' flush ack 'chunk 1 0 two\n' flush ack \
		'chunk 1 0 three\n' flush ack | wire >"$dir/said" || fail "$(cat "$dir/said")"
}

# What WELCOME says to a sender of a ring that went on elsewhere behind 40.
settles() {
	printf '%s\n' "receiver $(od -An -tx1 -j16 -N16 "$dir/out/.k2hft/ledger" | tr -d ' ')" 'unsettled 40' "hello $1 2 400" \
		welcome bye | wire
}

half_sent cut a
settles cut | grep -q '^welcome position 400 .* cut 2 retracted 0$' || fail "cut"
echo one | cmp - "$dir/out/a" || fail "what was not acknowledged is there"
is settled_records 2 || fail "settled_records"
settles cut | grep -q ' cut ' && fail "it was cut twice"

half_sent kill b
receiver_stop KILL
receiver_start
settles kill | grep -q '^welcome position 400 .* cut 2 retracted 0$' || fail "cut after a kill"
echo one | cmp - "$dir/out/b" || fail "what was not acknowledged is there after a kill"
logged 'cut back by' && fail "the start cut something"
[ ! -e "$list" ] || fail "there is nothing to name"
receiver_stop KILL
receiver_start
logged 'shorter than' && fail "the cut file is taken for one that was cut by others"
echo one | cmp - "$dir/out/b" || fail "the file after another start"

# Two names of hosts share the file.
half_sent front c
sends 'behind 1 0' c four
settles front | grep -q '^welcome position 400 .* cut 0 retracted 2$' || fail "others wrote behind"
printf 'one\ntwo\nthree\nfour\n' | cmp - "$dir/out/c" || fail "what others wrote was touched"
[ "$(wc -l <"$list")" = 2 ] || fail "$(cat "$list")"
grep -q "^$dir/out	c	4	4	66726f6e-7400-[0-9-]*	40	80	1	[0-9a-f]\{16\}\$" "$list" || fail "$(cat "$list")"
is retracted_records 2 || fail "retracted_records"
lossy || fail "retracted records are no loss"

# Renamed: its rest is where the rotation has put it.
half_sent rename d
mv "$dir/out/d" "$dir/out/d.1"
settles rename | grep -q '^welcome position 400 .* cut 0 retracted 2$' || fail "renamed"
grep -q "	d.1	4	4	" "$list" || fail "$(cat "$list")"
printf 'one\ntwo\nthree\n' | cmp - "$dir/out/d.1" || fail "the renamed file was cut"

# Quarantined: there is a directory of that name.
mkdir "$dir/out/e"
half_sent aside e
settles aside | grep -q '^welcome position 400 .* cut 0 retracted 2$' || fail "quarantined"
[ "$(grep -c "^$dir/out/.k2hft/quarantine	" "$list")" = 2 ] || fail "$(cat "$list")"
lines=$(wc -l <"$list")
settles aside | grep -q ' retracted ' && fail "it was retracted twice"
[ "$(wc -l <"$list")" = "$lines" ] || fail "lines came twice"

# The older epoch is over, also behind a restart.
receiver_stop TERM
receiver_start
printf 'hello cut 1 0\nerror\n' | wire | grep -q '^error 4 ' || fail "an older epoch after a settlement"

# No room for the list: the sender is refused, and comes again.
half_sent full f
sends 'later 1 0' f four
mv "$list" "$dir/kept"
mkdir "$list"
printf '%s\n' "receiver $(od -An -tx1 -j16 -N16 "$dir/out/.k2hft/ledger" | tr -d ' ')" 'unsettled 40' 'hello full 2 400' error |
	wire | grep -q "^error 6 what came before can't be taken back" || fail "a list that can't be written"
rmdir "$list"
mv "$dir/kept" "$list"
settles full | grep -q '^welcome position 400 .* cut 0 retracted 2$' || fail "the list can be written again"
