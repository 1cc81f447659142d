#!/bin/sh
# SPDX-License-Identifier: MIT
# An OUTPUTFILE that the next worker can't open is not forgotten: who writes hears of it, and it is there again when it can be.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
rules="[K2HFTFUSE_RULE_DIR]
TARGET = copied
DEFAULTALL = ALLOW
OUTPUTFILE = $work/copies/"
pick_port
start_mount
quick mkdir "$mnt/copied/sub" || fail mkdir
exec 3>>"$mnt/copied/sub/x"
echo first >&3 || fail "write first"
mv "$work/copies/sub" "$work/kept"
: >"$work/copies/sub"
said() {
	grep -q "copied/sub/x: its OUTPUTFILE can't be opened again" "$work/mount.err"
}
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
until_true 20 said || fail "no word of it"
{ echo lost >&3; } 2>/dev/null && fail "a write without its OUTPUTFILE succeeds"
rm "$work/copies/sub"
echo second >&3 || fail "write second"
exec 3>&-
stop_mount || fail "status $? of k2hftfuse"
[ "$(cat "$work/kept/x")" = first ] || fail "the first has $(cat "$work/kept/x")"
[ "$(cat "$work/copies/sub/x")" = second ] || fail "the second has $(cat "$work/copies/sub/x")"
