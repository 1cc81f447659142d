#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft-stat(1) is what its text and the program's table of counters make.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
k2hft=${B:-build}/bin/k2hft
man/stat-page.sh "$k2hft" >"$dir/page" || exit 1
diff man/man1/k2hft-stat.1 "$dir/page" || {
	echo "run: man/stat-page.sh $k2hft >man/man1/k2hft-stat.1"
	exit 1
}
