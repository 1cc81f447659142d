#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify keeps producers and runs apart, in one file or in several.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records --producers 4 --shared --append-each --size 30-200 -n 2000 "$dir/shared"
reads 0 --expect-all 2000 --producers 4 "$dir/shared"
says '^8000 records, 0 missing'
make_records --producers 4 --size 30-200 -n 2000 "$dir/own"
reads 0 --expect-all 2000 --producers 4 "$dir/own.1" "$dir/own.2" "$dir/own.3" "$dir/own.4"
reads 0 --expect-all 2000 "$dir/own.3"
reads 3 --expect-all 2000 --producers 3 "$dir/own.1" "$dir/own.3"
says 'producer 2: records 1-2000 missing, 2000$'

# Line by line in turn, then without some of one producer.
paste -d '\n' "$dir/own.1" "$dir/own.2" "$dir/own.3" "$dir/own.4" >"$dir/mixed"
reads 0 --expect-all 2000 --producers 4 "$dir/mixed"
grep -v '^~k2[0-9a-f]*,3,15[0-9][0-9],' "$dir/mixed" >"$dir/without"
reads 3 --expect-all 2000 --producers 4 "$dir/without"
says 'producer 3: records 1500-1599 missing, 100$'
says '^7900 records, 100 missing, 0 repeated, 0 out of order'

# A log that was rotated; in the wrong order it is out of order.
head -n 5000 "$dir/mixed" >"$dir/mixed.old"
tail -n +5001 "$dir/mixed" >"$dir/mixed.new"
reads 0 --expect-all 2000 "$dir/mixed.old" "$dir/mixed.new"
reads 3 --expect-all 2000 "$dir/mixed.new" "$dir/mixed.old"
says '0 missing, 0 repeated, 5000 out of order'

# Two runs in one file.
make_records --append --seed 5 -n 10 "$dir/mixed"
reads 0 "$dir/mixed"
reads 3 --expect-all 2000 "$dir/mixed"
run=$(tail -n 1 "$dir/mixed" | cut -c 4-9)
reads 0 --run "$run" --expect-all 10 --producers 1 "$dir/mixed"
says '^10 records, .* 8000 foreign$'

# A producer that is started again.
make_records --producer 3 --seed 9 -n 100 "$dir/again"
make_records --producer 3 --seed 9 -n 50 --first 101 "$dir/again"
reads 0 --expect 3=150 "$dir/again"
says '^150 records'
