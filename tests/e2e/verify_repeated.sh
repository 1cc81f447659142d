#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify finds records that came again, and says where.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records --size 100 -n 1000 "$dir/whole"
{
	head -n 600 "$dir/whole"
	sed -n '501,600p' "$dir/whole"
	tail -n 400 "$dir/whole"
	tail -n 1 "$dir/whole"
} >"$dir/again"
[ "$(wc -l <"$dir/again")" = 1101 ] || fail "the test's own file"
reads 3 --expect-all 1000 "$dir/again"
says '1101 records, 0 missing, 101 repeated, 0 out of order, 0 damaged'
says "byte $(head -n 600 "$dir/whole" | wc -c): run [0-9a-f]*, producer 1: records 501-600 repeated, 100$"
says 'record 1000 repeated$'
reads 3 "$dir/whole" "$dir/whole"
says ' 1000 repeated'
