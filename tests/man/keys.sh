#!/bin/sh
# SPDX-License-Identifier: MIT
# Every key that configuration files can have stands in k2hft.conf(5).
set -u
page=man/man5/k2hft.conf.5
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"${B:-build}/bin/k2hft" check --table | cut -f 2 | sort -u >"$work/table"
if ! [ -s "$work/table" ] || ! [ -f "$page" ]; then
	echo "no table, or no $page"
	exit 1
fi
# A key is a word of capitals, digits and underscores in bold; behind some a dot and a star stand for any name.
sed 's/\\-/-/g' "$page" | grep -oE '^\.(B|BR|BI) .*|\\fB[^\\]*' | grep -oE '\<[A-Z][A-Z0-9_]{2,}(\.\*|\>)' | sort -u >"$work/page"
missing=$(comm -23 "$work/table" "$work/page")
[ -z "$missing" ] || printf '%s: does not have:\n%s\n' "$page" "$missing"
[ -z "$missing" ]
