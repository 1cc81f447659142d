#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared libraries export what their public headers declare, what their map lists, and nothing else; their soname
# follows the version.
set -eu
build=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

major=$(sed -n 's/.*K2HFT_VERSION_MAJOR //p' include/k2hft/version.h)
for library in k2hft k2hft-config; do
	nm -D --defined-only "$build/lib/lib$library.so" | sed -n 's/.* [TDBRWi] \([^@]*\)@@*K2HFT_.*/\1/p' | sort >"$work/exported"
	nm -D --defined-only "$build/lib/lib$library.so" | sed -n 's/.* [TDBRWi] \([^@]*\)$/\1/p' >"$work/unversioned"
	sed -n 's/^\t\(k2hft_[a-z0-9_]*\);$/\1/p' lib/$library.map | sort >"$work/map"
	headers=include/k2hft/config.h
	[ $library = k2hft-config ] || headers=$(find include/k2hft -name '*.h' ! -name config.h)
	# The names have no blanks.
	# shellcheck disable=SC2086
	sed '/^#define/d' $headers | tr '\n\t' '  ' | grep -o 'K2HFT_API [^;(]*(' | sed 's/.*[ *]\(k2hft_[a-z0-9_]*\) *($/\1/' |
		sort >"$work/declared"

	[ -s "$work/declared" ]
	diff -u --label "lib/$library.map" "$work/map" --label 'exported' "$work/exported"
	diff -u --label 'include/k2hft' "$work/declared" --label "lib/$library.map" "$work/map"
	if [ -s "$work/unversioned" ]; then
		echo "exported without a version:"
		cat "$work/unversioned"
		exit 1
	fi
	readelf -d "$build/lib/lib$library.so" | grep -q "soname: \[lib$library.so.$major\]"
done
