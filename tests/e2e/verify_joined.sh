#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify finds lines that were joined or torn, with their place; whole records in them count as arrived.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records --size 100 -n 100 "$dir/whole"
sed '10{N;s/\n//}' "$dir/whole" >"$dir/joined"
reads 3 --expect-all 100 "$dir/joined"
says "joined: byte $(head -n 9 "$dir/whole" | wc -c): several records on one line: 198 bytes$"
says '^100 records, 0 missing, 0 repeated, 0 out of order, 1 damaged line, 0 foreign$'
reads 3 --json "$dir/joined"
says '"joined":1'

# The rear of one is gone, with its line end.
sed '20{N;s/.\{50\}\n//}' "$dir/whole" >"$dir/torn"
reads 3 --expect-all 100 "$dir/torn"
says 'a record that is changed or torn: 148 bytes$'
says 'record 20 missing$'
says '^99 records, 1 missing, 0 repeated, 0 out of order, 1 damaged line, 0 foreign$'

# A line end in the middle.
sed '30s/.\{40\}/&\n/' "$dir/whole" >"$dir/parted"
reads 3 --expect-all 100 "$dir/parted"
says '^99 records, 1 missing, 0 repeated, 0 out of order, 1 damaged line, 1 foreign$'

# Something else without its line end before.
sed '40s/^/half a line /' "$dir/whole" >"$dir/behind"
reads 3 --expect-all 100 "$dir/behind"
says 'a record behind something else: 111 bytes$'
reads 0 --expect-all 100 --prefix "$dir/behind"

# A hole, as a crash of the machine can leave one.
{
	head -c 5000 "$dir/whole"
	head -c 300 /dev/zero
	tail -c +5301 "$dir/whole"
} >"$dir/hole"
reads 3 --expect-all 100 "$dir/hole"
says 'records 51-53 missing, 3$'
says ' 1 damaged line,'

# Longer than what is read at once, in the middle of a file and to its end; what follows is read as ever.
{
	head -n 50 "$dir/whole"
	printf '~k2'
	head -c 70000000 /dev/zero | tr '\0' x
	printf '\n'
	tail -n 50 "$dir/whole"
} >"$dir/long"
reads 3 --expect-all 100 "$dir/long"
says "long: byte $(head -n 50 "$dir/whole" | wc -c): longer than any record: 70000003 bytes$"
says '^100 records, 0 missing, 0 repeated, 0 out of order, 1 damaged line, 0 foreign$'
{
	printf '~k2'
	head -c 67108885 /dev/zero | tr '\0' x
} >"$dir/unended"
reads 3 --expect-all 100 "$dir/unended" "$dir/whole"
says 'unended: byte 0: longer than any record: 67108888 bytes$'
says '^100 records, 0 missing, 0 repeated, 0 out of order, 1 damaged line, 0 foreign$'
