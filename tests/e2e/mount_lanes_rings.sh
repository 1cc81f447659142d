#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HTYPE = file with several receivers: a file for each, named by it. What was not acknowledged when the mount ended goes on
# from there, whatever the order of the SVRNODE sections; K2HTYPE = temp and mem have as many rings.
. tests/tools/mount.sh
. tests/tools/lanes.inc
global='DELIVERMODE = hash
REPLICA = 0'
lanes 3
for kind in temp mem file; do
	settings="K2HTYPE = $kind
RINGSIZE = 256K
DRAINTIMEOUT = 1"
	[ $kind != temp ] || settings="$settings
K2HFILE = $work/rings/ring"
	[ $kind != file ] || settings="$settings
K2HFILE = $work/rings/ring
K2HINIT = no"
	mkdir -p "$work/rings"
	start_mount
	for number in 1 2 3; do
		home=127.0.0.1:$(lane_port "$number")
		link=$mnt/.k2hft-ring.$home
		"$bin/k2hft" stat --json "$link" >"$work/stat.$number" || fail "$kind: k2hft stat $link"
		[ $kind != file ] || [ "$(readlink "$link")" = "$work/rings/ring.$home" ] || fail "$link: $(readlink "$link")"
	done
	[ "$(sed -n 's/.*"uuid": *"\([^"]*\)".*/\1/p' "$work"/stat.? | sort -u | wc -l)" = 3 ] || fail "links: $(cat "$work"/stat.?)"
	quick touch "$mnt/.k2hft-ring.other" 2>/dev/null && fail "a name of a ring's link can be taken"
	for file in $(seq 36); do
		seq -f "$file %.0f" 1000 >>"$sent/$kind$file"
	done
	until_true 30 all_acked || fail "$kind: not all is acknowledged"
	[ $kind = file ] || stop_mount || fail "$kind: status $? of k2hftfuse"
done
for number in 1 2 3; do
	[ -f "$work/rings/ring.127.0.0.1:$(lane_port "$number")" ] || fail "no ring for receiver $number"
	down "$number"
done
for file in $(seq 36); do
	seq -f "$file %.0f" 1001 1100 >>"$sent/file$file"
done
stop_mount || fail "status $? of k2hftfuse, whose rings keep records"
# Without its section the third gets what is left for it.
lanes_count=2
start_mount
[ "$(stat_value "len(s['lanes'])")" = 3 ] || fail "$(stat_value "s['lanes']")"
up 3
third_has() { cat "$work"/r3/senddir/file* | grep -q ' 1100$'; }
until_true 30 third_has || fail "what is left for the third is not sent"
echo after >>"$sent/after"
third_is_gone() { [ "$(stat_value "len(s['lanes'])")" = 2 ] && ! [ -e "$work/rings/ring.127.0.0.1:$port_3" ]; }
until_true 30 third_is_gone || fail "the third's lane stays: $(stat_value "s['lanes']")"
stop_mount || fail "status $? of k2hftfuse without the third"
[ -e "$work/r3/senddir/after" ] && fail "the third gets what is new"
lanes_count=3
down 3
first=$port_1
port_1=$port_3
port_3=$first
mv "$work/r1" "$work/r" && mv "$work/r3" "$work/r1" && mv "$work/r" "$work/r3"
for number in 1 2 3; do
	up "$number"
done
start_mount
until_true 30 all_acked || fail "what was left is not acknowledged"
for file in $(seq 36); do
	seq -f "$file %.0f" 1100 | cmp - "$work"/r*/senddir/"file$file" || fail "file$file"
done
[ "$(quick stat -f -c '%b * %S' "$mnt")" = "192 * 4096" ] || fail "df: $(quick stat -f -c '%b * %S' "$mnt")"
stop_mount || fail "status $? of k2hftfuse"
