#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that others fill while testio writes: it says so, and what it wrote is free again.
set -u
k2hft=${B:-build}/bin/k2hft
dir=$(mktemp -d)
clean() {
	umount "$dir/disk" 2>/dev/null
	rm -rf --one-file-system "$dir"
}
trap clean EXIT
mkdir "$dir/disk"
mount -t tmpfs -o size=64m k2hft-test "$dir/disk" 2>/dev/null || {
	echo "SKIP: mount not permitted"
	exit 77
}
free_bytes() {
	df --output=avail "$dir/disk" | tail -n 1
}
before=$(free_bytes)
# There are no more files than threads, however many are asked for.
"$k2hft" testio -s 20 -n 1 -b 64 -w 1 -f 64 "$dir/disk" >"$dir/output" || exit 1
: >"$dir/output" # of the run before
"$k2hft" testio -s 20 -n 1000 -t 3600 -b 4 -w 1 "$dir/disk" >"$dir/output" 2>"$dir/errors" &
testio=$!
until grep -q '^Max # files' "$dir/output"; do
	kill -0 $testio || exit 1
	sleep 0.05
done
# Room that comes free between two runs is taken.
while kill -0 $testio 2>/dev/null; do
	head -c 1m /dev/zero >>"$dir/disk/other" 2>/dev/null
done
wait $testio
status=$?
if [ $status != 1 ] || ! grep -q 'test.io: write: No space left on device' "$dir/errors"; then
	echo "status $status: $(cat "$dir/errors")"
	exit 1
fi
[ "$(ls -A "$dir/disk")" = other ] || exit 1
rm "$dir/disk/other"
[ "$(free_bytes)" = "$before" ]
