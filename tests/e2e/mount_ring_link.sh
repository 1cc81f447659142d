#!/bin/sh
# SPDX-License-Identifier: MIT
# MNT/.k2hft-ring leads to the ring, for its owner; it is not listed and can't be touched.
# A folder that other users can get to.
TMPDIR=/tmp
. tests/tools/mount.sh
pick_port
start_mount
target=$(quick readlink "$mnt/.k2hft-ring") || fail "no link"
[ "$(head -c 4 "$target" | od -An -c | tr -d ' ')" = "$(head -c 4 "/proc/$mount_pid/fd/${target##*/}" | od -An -c | tr -d ' ')" ] ||
	fail "$target is not the ring"
[ "$(quick stat -Lc %s "$mnt/.k2hft-ring")" -gt 67108864 ] || fail "$target is not as large as the ring"
[ "$(quick ls -A "$mnt")" = senddir ] || fail "it is listed"
quick rm -f "$mnt/.k2hft-ring" 2>/dev/null && fail "it can be removed"
quick mv "$sent" "$mnt/.k2hft-ring" 2>/dev/null && fail "it can be replaced"
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	kill $mount_pid
	wait_mount
	mount_options=,allow_other
	chmod 755 "$work"
	start_mount
	quick setpriv --reuid nobody --clear-groups ls "$mnt" >/dev/null || fail "allow_other"
	quick setpriv --reuid nobody --clear-groups readlink "$mnt/.k2hft-ring" && fail "anybody may read it"
fi
settings="K2HTYPE = file
K2HFILE = $work/ring"
kill $mount_pid
wait_mount
start_mount
[ "$(quick readlink "$mnt/.k2hft-ring")" = "$work/ring" ] || fail "$(readlink "$mnt/.k2hft-ring") is not $work/ring"
stop_mount || fail "status $?"
