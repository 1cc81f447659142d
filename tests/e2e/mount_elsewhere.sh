#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that ends unmounts itself, and nothing that others have mounted at its place since; what stays of it then, a
# message says.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] || skip "not root"
unshare -m true 2>/dev/null || skip "no mount namespaces"
other_pid=
trap 'code=$?; [ -z "$other_pid" ] || kill "$other_pid"; umount -l "$work/above/mnt" "$mnt" 2>/dev/null; clean' EXIT
end_mount() {
	kill "$mount_pid"
	wait_mount || fail "status $?"
	grep -q 'is not this mount any more' "$work/mount.err" || fail "no word of it"
	: >"$work/mount.err"
}
has_copy() {
	[ "$(readlink "/proc/$other_pid/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] &&
		grep -q " $mnt fuse" "/proc/$other_pid/mounts" && grep -qx 'sleep' "/proc/$other_pid/comm"
}
start_receiver

# Covered.
start_mount
quick mount -t tmpfs tmpfs "$mnt" || fail "can't cover it"
echo precious >"$mnt/other"
end_mount
[ "$(cat "$mnt/other")" = precious ] || fail "what covers it was unmounted"
umount "$mnt" || fail "umount of what covers it"
umount -l "$mnt" || fail "umount of what stays"

# Unmounted where another namespace has a copy, and mounted anew.
start_mount
unshare -m --propagation private sleep 600 &
other_pid=$!
until_true 20 has_copy || fail "no copy"
quick umount "$mnt" || fail umount
old_pid=$mount_pid
start_mount
new_pid=$mount_pid
mount_pid=$old_pid
end_mount
mount_pid=$new_pid
mounted || fail "the new mount was unmounted"
quick sh -c "echo one >>'$sent/f'" || fail "a write to the new mount"
stop_mount || fail "status $?"
! grep -q 'not this mount' "$work/mount.err" || fail "a word about an unmount"
echo one >"$work/f"
arrives "$work/f" senddir/f

# Moved, with a directory above it.
mkdir -p "$work/below/mnt"
mnt=$work/below/mnt
start_mount
mv "$work/below" "$work/above" || fail mv
end_mount
mnt=$work/above/mnt
start_mount
until_true 20 grep -q 'a mount whose processes ended was there, and is removed' "$work/mount.err" ||
	fail "it is not there"
# The memory of the old one is no sign of the new one.
until_true 20 quick grep -qs '"pid"' "$mnt/.k2hft-stat" || fail "the new mount does not come"
stop_mount || fail "status $?"
