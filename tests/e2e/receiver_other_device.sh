#!/bin/sh
# SPDX-License-Identifier: MIT
# A file is known by when it was made: after a power cut it is cut back also if its device has another number then, as
# btrfs, NFS and LVM give them, and a new one that has its inode is left alone.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
first='' second=''
cleanup() {
	code=$?
	receiver_cleanup
	for device in $first $second; do
		losetup -d "$device"
	done
	exit "$code"
}
trap cleanup EXIT
mkdir "$dir/out"
truncate -s 32M "$dir/disk"
if ! mkfs.ext4 -q "$dir/disk" 2>/dev/null || ! first=$(losetup -f --show "$dir/disk" 2>/dev/null) ||
	! mount "$first" "$dir/out" 2>/dev/null; then
	skip "no ext4 in a file"
fi
: >"$dir/mounted"
before=$(stat -c %d "$dir/out")

receiver_boot_id 11111111-1111-4111-8111-111111111111
$booted true || skip "no boot id of its own"
receiver_config "STATEDIR = $dir/state"
receiver_start
wire <<END >"$dir/said" || fail "$(cat "$dir/said")"
hello ring 1 0 3
welcome
stream 1 text cut
stream 2 text new
chunk 1 0 kept\n
chunk 2 0 gone\n
flush
ack
bye
END
receiver_stop KILL
printf 'torn' >>"$dir/out/cut"
inode=$(stat -c %i "$dir/out/new")
rm "$dir/out/new"
for try in 1 2 3 4 5 6 7 8 9; do
	printf 'longer than the one before' >"$dir/out/other$try"
	[ "$(stat -c %i "$dir/out/other$try")" != "$inode" ] || mv "$dir/out/other$try" "$dir/out/new"
done

umount "$dir/out"
# The killed receiver's own mounts, which receiver_boot_id makes, go a moment after it, and the last one writes to the disk.
let_go() { [ ! -e "/sys/fs/ext4/${first##*/}" ]; }
wait_until let_go
second=$(losetup -f --show "$dir/disk") || fail "no second device"
mount "$second" "$dir/out"
[ "$(stat -c %d "$dir/out")" != "$before" ] || fail "the same device"
receiver_boot_id 22222222-2222-4222-8222-222222222222
receiver_start
[ "$(cat "$dir/out/cut")" = kept ] || fail "not cut back: $(cat "$dir/out/cut")"
[ -e "$dir/out/new" ] || fail "no file had inode $inode again"
[ "$(cat "$dir/out/new")" = 'longer than the one before' ] || fail "cut off: $(cat "$dir/out/new")"
receiver_stop TERM
