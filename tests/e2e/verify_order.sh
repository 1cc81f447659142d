#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify finds records that are out of order, and does not count them as missing.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records -n 1000 "$dir/whole"
sed -n '10{h;d};11{p;x};p' "$dir/whole" >"$dir/swapped"
reads 3 "$dir/swapped"
says 'producer 1: record 10 out of order$'
says '1000 records, 0 missing, 0 repeated, 1 out of order, 0 damaged'
{
	sed '100,199d' "$dir/whole"
	sed -n '100,199p' "$dir/whole"
} >"$dir/moved"
reads 3 --expect-all 1000 "$dir/moved"
says 'records 100-199 out of order, 100$'
says '0 missing, 0 repeated, 100 out of order'
tac "$dir/whole" >"$dir/reversed"
reads 3 "$dir/reversed"
says '0 missing, 0 repeated, 999 out of order'
