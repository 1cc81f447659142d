#!/bin/sh
# SPDX-License-Identifier: MIT
# make dist gives the same bytes each time, and they are the files of the commit.
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
git rev-parse HEAD >"$root/head" 2>&1 || {
	echo "SKIP: this is no checkout of the repository: $(cat "$root/head")"
	exit 77
}
for folder in one two; do
	eval "${K2HFT_MAKE:-make} -s dist B=$root/$folder"
done
cmp "$root"/one/k2hft-*.tar.gz "$root"/two/k2hft-*.tar.gz
tar -xzf "$root"/one/k2hft-*.tar.gz -C "$root"
git archive HEAD | (mkdir "$root/commit" && tar -x -C "$root/commit")
diff -r "$root"/k2hft-* "$root/commit"
