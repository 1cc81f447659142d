#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that results are to go to and that hold something else stay as they are: bench, testio and verify --make refuse them,
# and write anew what they wrote before.
set -u
k2hft=${B:-build}/bin/k2hft
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAIL: $*"
	exit 1
}

# refused STATUS FILE COMMAND...: it says so, and the file is as it was.
refused() {
	wanted=$1 file=$2
	shift 2
	echo 'not a result' >"$file"
	timeout 120 "$k2hft" "$@" >"$work/out" 2>&1
	status=$?
	[ $status = "$wanted" ] || fail "status $status of $*: $(cat "$work/out")"
	grep -q "$file.*holds something else" "$work/out" || fail "no word of $file: $(cat "$work/out")"
	[ "$(cat "$file")" = 'not a result' ] || fail "$file was changed"
	rm "$file"
}

mkdir "$work/disk"
for option in tsv json markdown html; do
	refused 1 "$work/bench.$option" bench -n 1000 --runs 1 --by library --$option "$work/bench.$option"
	echo 'of another' >"$work/bench.$option.new"
done
for option in tsv json; do
	refused 1 "$work/testio.$option" testio -s 1 -n 1 -b 64 -t 1 -w 1 --$option "$work/testio.$option" "$work/disk"
done
refused 1 "$work/records" verify --make --count 10 "$work/records"

for again in 1 2; do
	for option in tsv json markdown html; do
		set -- "$@" "--$option" "$work/bench.$option"
	done
	timeout 120 "$k2hft" bench -n 1000 --runs 1 --by library "$@" >"$work/out" 2>&1 || fail "bench $again: $(cat "$work/out")"
	set --
	timeout 120 "$k2hft" testio -s 1 -n 1 -b 64 -t 1 -w 1 --tsv "$work/testio.tsv" --json "$work/testio.json" "$work/disk" \
		>"$work/out" 2>&1 || fail "testio $again: $(cat "$work/out")"
	for form in '' '--size 12'; do
		# shellcheck disable=SC2086
		timeout 120 "$k2hft" verify --make --count 10 $form "$work/records" >"$work/out" 2>&1 ||
			fail "verify $again $form: $(cat "$work/out")"
	done
done
[ "$(cat "$work"/bench.*.new | sort -u)" = 'of another' ] || fail "a file beside them was changed"
[ "$(find "$work" -name '*.new' | wc -l)" = 4 ] || fail "a file is left: $(ls "$work")"
