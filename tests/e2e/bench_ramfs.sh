#!/bin/sh
# SPDX-License-Identifier: MIT
# A file system that does not say how large it is, is not taken for a full one by bench and testio.
set -u
k2hft=${B:-build}/bin/k2hft
dir=$(mktemp -d)
clean() {
	umount "$dir" 2>/dev/null
	rm -rf --one-file-system "$dir"
}
trap clean EXIT
mount -t ramfs k2hft-test "$dir" 2>/dev/null || {
	echo "SKIP: mount not permitted"
	exit 77
}
TMPDIR=$dir "$k2hft" bench --by library -n 1000 --size 10 --runs 1 || exit 1
"$k2hft" testio -q -s 1 -n 1 -b 64 -w 1 "$dir"
