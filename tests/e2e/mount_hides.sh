#!/bin/sh
# SPDX-License-Identifier: MIT
# Files in the mount's directory from before are hidden by the mount: a message says so. It is there
# again afterwards. Nothing is said of an empty directory.
. tests/tools/mount.sh
pick_port
said() {
	grep -q "$mnt is not empty: the mount hides what is there" "$work/mount.err"
}
start_mount
stop_mount || fail "status $?"
! said || fail "a word about an empty directory"
mkdir "$sent"
echo early >"$sent/app.log"
start_mount
said || fail "no word of what is hidden"
[ -z "$(quick ls "$sent")" ] || fail "seen: $(ls "$sent")"
stop_mount || fail "status $?"
[ "$(cat "$sent/app.log")" = early ] || fail "what was hidden is not there any more"
