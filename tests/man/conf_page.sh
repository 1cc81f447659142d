#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft.conf(5) is what its text and the program's table of keys make.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
k2hft=${B:-build}/bin/k2hft
man/conf-page.sh "$k2hft" >"$dir/page" || exit 1
diff man/man5/k2hft.conf.5 "$dir/page" || {
	echo "run: man/conf-page.sh $k2hft >man/man5/k2hft.conf.5"
	exit 1
}
