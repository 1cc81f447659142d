#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports what the public headers declare, what the map lists, and nothing else; its soname follows
# the version.
set -eu
build=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$build/lib/libk2hft.so" | sed -n 's/.* [TDBRWi] \([^@]*\)@@*K2HFT_.*/\1/p' | sort >"$work/exported"
nm -D --defined-only "$build/lib/libk2hft.so" | sed -n 's/.* [TDBRWi] \([^@]*\)$/\1/p' >"$work/unversioned"
sed -n 's/^\t\(k2hft_[a-z0-9_]*\);$/\1/p' lib/k2hft.map | sort >"$work/map"
sed '/^#define/d' include/k2hft/*.h | tr '\n\t' '  ' | grep -o 'K2HFT_API [^;(]*(' | sed 's/.*[ *]\(k2hft_[a-z0-9_]*\) *($/\1/' |
	sort >"$work/declared"

[ -s "$work/declared" ]
diff -u --label 'lib/k2hft.map' "$work/map" --label 'exported' "$work/exported"
diff -u --label 'include/k2hft' "$work/declared" --label 'lib/k2hft.map' "$work/map"
if [ -s "$work/unversioned" ]; then
	echo "exported without a version:"
	cat "$work/unversioned"
	exit 1
fi
major=$(sed -n 's/.*K2HFT_VERSION_MAJOR //p' include/k2hft/version.h)
readelf -d "$build/lib/libk2hft.so" | grep -q "soname: \[libk2hft.so.$major\]"
