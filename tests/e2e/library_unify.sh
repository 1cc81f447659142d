#!/bin/sh
# SPDX-License-Identifier: MIT
# Three senders at once into one file: each one's lines are all there, once, in their order, and none is broken.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config "FILE_UNIFY = unify.log"
receiver_start
logs=${K2HFT_LOGS:-../shared/logs}
for sender in 1 2 3; do
	if [ -d "$logs" ]; then
		cat "$logs"/*.log
	else
		seq 1 200000
	fi | sed "s/^/$sender /" >"$dir/in$sender"
	# A last line without its end gets one there.
	[ -z "$(tail -c 1 "$dir/in$sender")" ] || echo >>"$dir/in$sender"
done
senders=
way=lines
for sender in 1 2 3; do
	"${B:-build}/tests/tools/library_send" "$port" "s$sender" $way "$dir/in$sender" &
	senders="$senders $!"
	way=records
done
for sender in $senders; do
	wait "$sender" || fail "a sender"
done
for sender in 1 2 3; do
	grep -a "^$sender " "$dir/out/unify.log" | cmp - "$dir/in$sender" || fail "sender $sender"
done
[ "$(cat "$dir"/in? | wc -l)" = "$(wc -l <"$dir/out/unify.log")" ] || fail "other lines"
