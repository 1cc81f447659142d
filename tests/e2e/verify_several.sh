#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify looks at the order of records in all files as one, in each of several receivers' files, or not at all.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records -n 1000 "$dir/whole"
sed '101,200d' "$dir/whole" >"$dir/one"
sed -n '101,200p' "$dir/whole" >"$dir/other"
reads 3 "$dir/one" "$dir/other"
says '1000 records, 0 missing, 0 repeated, 100 out of order'
reads 0 --order file "$dir/one" "$dir/other"
reads 0 --order file "$dir/other" "$dir/one"
sed '$!N;s/\(.*\)\n\(.*\)/\2\n\1/' "$dir/other" >"$dir/swapped"
reads 3 --order file "$dir/one" "$dir/swapped"
says '1000 records, 0 missing, 0 repeated, 50 out of order'
reads 0 --order none "$dir/swapped" "$dir/one"
reads 3 --order none "$dir/one" "$dir/other" "$dir/other"
says '1100 records, 0 missing, 100 repeated, 0 out of order'
reads 3 --order none "$dir/one"
says '900 records, 100 missing'
reads 2 --order some "$dir/one"
says 'all, file or none is needed'
