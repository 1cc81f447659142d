#!/bin/sh
# SPDX-License-Identifier: MIT
# Records of k2hft verify --make are all found by k2hft verify: records of all lengths, in both forms.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
for size in 10 11-23 10-300 24 24-30 100 1K-64K 1M; do
	make_records --size $size -n 40 "$dir/file"
	reads 0 --expect-all 40 "$dir/file"
	says '^40 records, 0 missing, 0 repeated, 0 out of order, 0 damaged lines, 0 foreign$'
	says ': fine$'
done
make_records --size 24 -n 9 "$dir/file"
[ "$(wc -c <"$dir/file")" = $((24 * 9)) ] || fail "records of 24 bytes"
make_records --size 10 -n 9 "$dir/file"
[ "$(wc -c <"$dir/file")" = 90 ] || fail "records of 10 bytes"
make_records --size 64M -n 2 "$dir/file"
[ "$(wc -c <"$dir/file")" = $((2 * 64 * 1024 * 1024)) ] || fail "records of 64 MiB"
reads 0 --expect-all 2 "$dir/file"
rm "$dir/file"

# The highest numbers that there are.
make_records --first 999999999999999998 -n 2 "$dir/last"
reads 0 --first 999999999999999998 --expect-all 2 "$dir/last"
reads 0 --first 999999999999999999 --expect 1=1 - <<END
$(tail -n 1 "$dir/last")
END

make_records --seed 7 --size 30-90 -n 500 "$dir/one"
make_records --seed 7 --size 30-90 -n 500 "$dir/other"
cmp "$dir/one" "$dir/other" || fail "the same seed made other records"
make_records --size 30-90 -n 500 "$dir/other"
! cmp -s "$dir/one" "$dir/other" || fail "no seed made the same records"
reads 0 - <"$dir/one"
