#!/bin/sh
# SPDX-License-Identifier: MIT
# A YAML or JSON file is refused with a clear text, before anything in it is read as INI.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in a.yaml a.yml a.JSON; do
	echo '{}' >"$dir/$name"
	"${B:-build}/bin/k2hft" check "$dir/$name" >"$dir/out"
	[ $? = 2 ] || exit 1
	grep -q "^$dir/$name: error: this version reads INI files only" "$dir/out" || exit 1
done
