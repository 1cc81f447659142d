#!/bin/sh
# SPDX-License-Identifier: MIT
# An OUTPUTFILE that is renamed or removed, as logrotate does it, is made anew, also for who has its file open.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
mkdir "$work/real"
ln -s "$work/real/linked.copy" "$work/linked.copy"
rules="[K2HFTFUSE_RULE]
TARGET = one.log
DEFAULTALL = ALLOW
OUTPUTFILE = $work/one.copy
[K2HFTFUSE_RULE]
TARGET = linked.log
DEFAULTALL = ALLOW
OUTPUTFILE = $work/linked.copy
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
OUTPUTFILE = $work/copies/"
pick_port
start_mount
quick mkdir -p "$mnt/many/sub" || fail mkdir
exec 3>>"$mnt/one.log" 4>>"$mnt/linked.log" 5>>"$mnt/many/sub/x"

# write_all TEXT: what was renamed or removed is noticed some milliseconds later.
write_all() {
	sleep 0.1
	for file in 3 4 5; do
		echo "$1" >&$file || fail "write $1"
	done
}

# holds TEXT FILE...
holds() {
	text=$1
	shift
	for file; do
		[ "$(cat "$file")" = "$text" ] || fail "$file has $(cat "$file"), not $text"
	done
}

write_all first
for file in one.copy real/linked.copy copies/sub/x; do
	mv "$work/$file" "$work/$file.1"
done
write_all second
holds first "$work/one.copy.1" "$work/real/linked.copy.1" "$work/copies/sub/x.1"
holds second "$work/one.copy" "$work/linked.copy" "$work/copies/sub/x"
[ "$(quick cat "$mnt/one.log" "$mnt/many/sub/x" | tr '\n' ' ')" = 'second second ' ] || fail "what is read"
[ "$(stat -c %a "$work/one.copy" "$work/copies/sub/x" | tr '\n' ' ')" = '600 600 ' ] || fail "their modes"

# Another worker has what its keeper opened at the start.
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
rm "$work/one.copy" "$work/real/linked.copy"
rm -r "$work/copies/sub"
write_all third
holds third "$work/one.copy" "$work/linked.copy" "$work/copies/sub/x"

# A writer whose records only go there hears of it when they can't.
rm -r "$work/real"
sleep 0.1
quick sh -c "echo lost >'$mnt/linked.log'" 2>/dev/null && fail "a copy without its directory succeeds"
# Each of those that come at once, too.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	echo lost >&4 && fail "a write after another that failed succeeds, and is nowhere"
done 2>/dev/null
exec 3>&- 4>&- 5>&-
stop_mount || fail "status $? of k2hftfuse"
grep -q "$work/linked.copy: No such file" "$work/mount.err" || fail "no word about the directory"
