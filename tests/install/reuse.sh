#!/bin/sh
# SPDX-License-Identifier: MIT
# Each file says what its licence is, as REUSE wants it.
set -eu
for program in reuse git; do
	command -v $program >/dev/null || {
		echo "SKIP: no $program"
		exit 77
	}
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git ls-files -z >"$dir/names" 2>"$dir/said" || {
	echo "SKIP: this is no checkout of the repository"
	exit 77
}
mkdir "$dir/k2hft"
xargs -0 cp --parents -Pt "$dir/k2hft" <"$dir/names"
cd "$dir/k2hft"
case $(reuse --version) in
*' 1.'* | *' 2.'* | *' 3.'*)
	# It does not know REUSE.toml yet, but this.
	mkdir .reuse
	printf '%s\n' 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' '' 'Files: *' \
		"Copyright: $(sed -n 's/^SPDX-FileCopyrightText = "\(.*\)"/\1/p' REUSE.toml)" \
		"License: $(sed -n 's/^SPDX-License-Identifier = "\(.*\)"/\1/p' REUSE.toml)" >.reuse/dep5
	rm REUSE.toml
	;;
esac
reuse lint >"$dir/said" 2>&1 || {
	tail -n 30 "$dir/said"
	exit 1
}
