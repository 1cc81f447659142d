#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file whose disk has lost the room for it, or fails: the mount does not end as if all were well. The request that
# meets that fails, workers try again, and writers wait until there is room; if none comes, the mount ends with an error.
. tests/tools/mount.sh
command -v fallocate >/dev/null || skip "no fallocate"
disk=$work/disk
mkdir "$disk"
mount -t tmpfs -o size=12m k2hft-test "$disk" 2>/dev/null || skip "mount not permitted"
disk_clean() {
	umount -l "$disk"
	clean
}
trap 'code=$?; disk_clean' EXIT
settings="K2HTYPE = file
K2HFILE = $disk/ring
RINGSIZE = 4M
WRITEMODE = direct"

# A hole takes the place of all that has been acknowledged, and something else its room.
take_room() {
	quick sync "$sent/f" || fail "sync"
	size=$(stat -c %s "$disk/ring")
	fallocate -p -o $((size - 4194304)) -l 4194304 "$disk/ring" || skip "no holes in files"
	dd if=/dev/zero of="$disk/ballast" bs=64K 2>/dev/null && fail "the disk did not get full"
}
# A word each time that the ring is met so, whether the kernel finds it or the worker itself.
refused() { [ "$(grep -c "mount: the ring can't be written: the disk of its file" "$work/mount.err")" = "$1" ]; }

start_receiver
start_mount
quick sh -c "echo one >'$sent/f'" || fail "a write"
take_room
quick sh -c "until echo two >>'$sent/f'; do sleep 0.1; done" 2>/dev/null &
writer=$!
until_true 10 refused 1 || fail "no word of it"
rm "$disk/ballast"
wait "$writer" || fail "a write when there is room"
printf 'one\ntwo\n' >"$work/expected"
arrives "$work/expected" senddir/f

take_room
quick sh -c "echo three >>'$sent/f'" 2>/dev/null && fail "a write without room"
wait_mount && fail "status 0"
refused 2 || fail "no word of it the second time"
grep -q "mount: $mnt ends: 20 workers in a row failed soon" "$work/mount.err" || fail "no word at the end"
