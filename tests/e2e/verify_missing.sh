#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify finds what is missing: in the middle, at the begin, and at the end if it knows how much there should be.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records -n 1000 "$dir/whole"
sed '400,449d;700d' "$dir/whole" >"$dir/middle"
reads 3 "$dir/middle"
says 'producer 1: records 400-449 missing, 50$'
says 'producer 1: record 700 missing$'
says '^949 records, 51 missing,'
sed '1,3d' "$dir/whole" >"$dir/begin"
reads 3 "$dir/begin"
says 'records 1-3 missing, 3$'
reads 0 --first 4 "$dir/begin"
head -n 990 "$dir/whole" >"$dir/end"
reads 0 "$dir/end"
reads 3 --expect-all 1000 "$dir/end"
says 'records 991-1000 missing, 10$'
reads 3 --expect 1=1000 "$dir/end"
reads 0 --expect 1=990 "$dir/end"
reads 3 --expect 1=980 "$dir/end"
says 'producer 1: records 981-990 not expected, 10$'
reads 3 --expect 1=990 --expect 2=5 "$dir/end"
says 'producer 2: records 1-5 missing, 5$'
reads 3 --expect-all 990 --producers 3 "$dir/end"
says '1980 missing (1980 of them at the end)'
: >"$dir/empty"
reads 3 "$dir/empty"
says 'NOT fine, no records$'
reads 3 --expect 1=10 "$dir/empty"
says 'records 1-10 missing'
reads 0 --expect-all 0 "$dir/empty"
# So many of each producer, and there is none: whoever says how many there are to be must hear that none came.
reads 3 --expect-all 10 "$dir/empty"
says 'NOT fine, no records$'
reads 3 --expect-all 10 --run abcdef "$dir/whole"
reads 0 --expect-all 10 --allow-missing-tail "$dir/empty"

# Some of many gaps are listed, all are counted.
sed -n 'p;n' "$dir/whole" >"$dir/half"
reads 3 --limit 3 "$dir/half"
says 'and 496 more ranges that are missing'
says '^500 records, 499 missing'
