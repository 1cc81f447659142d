#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify finds the end of a file in the middle of a record; --allow-missing-tail forgives that and nothing else.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records --size 100 -n 100 "$dir/whole"
head -c 9950 "$dir/whole" >"$dir/cut"
reads 3 "$dir/cut"
says 'byte 9900: the file ends within a record: 50 bytes$'
reads 0 --allow-missing-tail "$dir/cut"
reads 0 --allow-missing-tail --expect-all 120 "$dir/cut"
says '99 records, 21 missing (21 of them at the end)'
head -c 9999 "$dir/whole" >"$dir/unended"
reads 3 "$dir/unended"
says "the file ends before a record's line end: 99 bytes$"
says '100 records, 0 missing'
reads 0 --allow-missing-tail --expect-all 100 "$dir/unended"
sed 5d "$dir/cut" >"$dir/two"
reads 3 --allow-missing-tail "$dir/two"
says '98 records, 1 missing'
{
	head -c 5050 "$dir/whole"
	echo
	tail -c +5101 "$dir/cut"
} >"$dir/torn"
reads 3 --allow-missing-tail "$dir/torn"
says '98 records, 1 missing.* 2 damaged lines'
# Each file ends for itself.
tail -c 50 "$dir/whole" >"$dir/rest"
reads 3 "$dir/cut" "$dir/rest"
says ' 1 damaged line, 1 foreign'
