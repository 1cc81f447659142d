#!/bin/bash
# SPDX-License-Identifier: MIT
# k2hft verify --inside finds records in whatever a FORMAT puts before and behind them, and damage there.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
formatted() { # what K2HFTFUSE's published FORMAT makes of lines, with things that look like records
	sed "s/.*/2026-11-26 21:46:35.1 +0900 te!most~': {'message':'&','host':'a!bcdefgh~k2.example'}/" "$1"
}
for size in 100 12; do
	make_records --size $size -n 100 "$dir/whole"
	formatted "$dir/whole" >"$dir/json"
	reads 3 --expect-all 100 "$dir/json"
	reads 0 --expect-all 100 --only --inside "$dir/json"
	says '^100 records, 0 missing, 0 repeated, 0 out of order, 0 damaged lines, 0 foreign$'
	sed 's/$/\r/' "$dir/whole" >"$dir/crlf"
	reads 0 --expect-all 100 --only --inside "$dir/crlf"
	reads 0 --expect-all 100 --only --inside "$dir/whole"
	# What is missing, repeated or on another's line is found as without text around it.
	sed '10d; 20p; 30{N;s/\n/ and /}' "$dir/json" >"$dir/wrong"
	reads 3 --expect-all 100 --inside "$dir/wrong"
	says 'record 10 missing$'
	says ': several records on one line: '
	says '^100 records, 1 missing, 1 repeated, 0 out of order, 1 damaged line, 0 foreign$'
done
make_records --size 100 -n 100 "$dir/whole"
# Text that goes on as a record could end, and a changed record.
sed 's/$/,00000000 abc/' "$dir/whole" >"$dir/text"
reads 0 --expect-all 100 --only --inside "$dir/text"
sed '40s/,\(.\)\{8\} abc/,zzzzzzzz abc/; 50s/^\(.\{30\}\).../\1---/' "$dir/text" >"$dir/changed"
reads 3 --expect-all 100 --inside "$dir/changed"
says 'record 50 missing$'
says ' 1 damaged line,'
head -c -100 <(formatted "$dir/whole") >"$dir/cut"
reads 3 --expect-all 100 --inside "$dir/cut"
says 'the file ends within a record'
reads 0 --expect-all 100 --allow-missing-tail --inside "$dir/cut"
# Another run's records are foreign there, too.
make_records --size 100 -n 3 "$dir/other"
run=$(head -c 9 "$dir/other" | tail -c 6)
formatted "$dir/other" >>"$dir/json"
reads 0 --run "$run" --expect-all 3 --inside <(cat <(formatted "$dir/whole") <(formatted "$dir/other"))
says ' 100 foreign$'
