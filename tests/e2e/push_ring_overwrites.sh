#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file on Btrfs, which writes nothing where it was before unless it is asked to: when the disk gets full later, the
# ring goes on in the room that it has.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
[ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -n 1)" = 6.18 ] || skip "this kernel takes other room all the same"
command -v mkfs.btrfs >/dev/null || skip "no mkfs.btrfs"
truncate -s 128M "$dir/image"
mkfs.btrfs -q "$dir/image" 2>/dev/null || fail "mkfs.btrfs"
mkdir "$dir/disk"
mount -o loop "$dir/image" "$dir/disk" 2>/dev/null || skip "mount not permitted"
trap 'code=$?; exec 3>&-; kill -9 $pushing 2>/dev/null; umount -l "$dir/disk"; receiver_cleanup; exit $code' EXIT
pushing=
receiver_config ""
receiver_start
mkfifo "$dir/pipe"
"${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/disk/ring" --ring-size 1M -t f "$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
seq 1 500000 >"$dir/in"
# More than a lap, and the last one is on the disk.
head -c 2000000 "$dir/in" >&3
wait_until arrived f 1990000
sync -f "$dir/disk"
for block in 1M 64K 4K; do
	dd if=/dev/urandom of="$dir/disk/ballast.$block" bs=$block 2>/dev/null
	sync -f "$dir/disk"
done
tail -c +2000001 "$dir/in" >&3
exec 3>&-
wait $pushing || fail "status $? of the sender"
pushing=
cmp "$dir/in" "$dir/out/f" || fail "not what was sent"
