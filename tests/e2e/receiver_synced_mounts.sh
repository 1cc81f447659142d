#!/bin/sh
# SPDX-License-Identifier: MIT
# Data that is acknowledged at level synced is on its disk also if that is mounted below FILE_BASEDIR, and if there are more
# files than stay open.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
device='' mounted=''
cleanup() {
	code=$?
	receiver_end
	for place in $mounted; do
		umount -l "$place"
	done
	receiver_cleanup
	[ -z "$device" ] || losetup -d "$device"
	exit "$code"
}
trap cleanup EXIT
mkdir -p "$dir/out/below" "$dir/look"
truncate -s 32M "$dir/disk"
# Its journal is not written before somebody wants it to.
if ! mkfs.ext4 -q "$dir/disk" 2>/dev/null || ! device=$(losetup -f --show "$dir/disk" 2>/dev/null) ||
	! mount -o commit=300 "$device" "$dir/out/below" 2>/dev/null; then
	skip "no ext4 in a file"
fi
mounted=$dir/out/below

printf '#!/bin/sh\nexec prlimit --nofile=600:600 %s "$@"\n' "$server" >"$dir/limited"
chmod +x "$dir/limited"
server=$dir/limited
receiver_config "STATEDIR = $dir/state"
receiver_start
{
	printf '%s\n' 'hello ring 1 0 3' welcome
	seq 200 | sed 's|.*|stream & text below/d/&|'
	seq 201 400 | sed 's|.*|stream & text beside/&|'
	seq 400 | sed 's|.*|chunk & 0 record\\n|'
	printf '%s\n' flush ack bye
} | wire >"$dir/said" || fail "$(cat "$dir/said")"
# As it would be found after a power cut.
cp "$dir/disk" "$dir/copy"
mount -o loop "$dir/copy" "$dir/look" || fail "the copy"
mounted="$mounted $dir/look"
found=$(cat "$dir"/look/d/* | grep -cx record)
[ "$found" = 200 ] || fail "$found of 200 records are on the disk"
receiver_stop TERM
