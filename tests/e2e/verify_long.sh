#!/bin/bash
# SPDX-License-Identifier: MIT
# k2hft verify passes over lines that are longer than any record, and keeps little of them in memory.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
make_records -n 100 "$dir/whole"
letters() {
	head -c $((200 * 1024 * 1024)) /dev/zero | tr '\0' a
}
{
	head -n 50 "$dir/whole"
	letters
	echo
	printf '~k2'
	letters
	echo
	tail -n 50 "$dir/whole"
	letters
} | (
	# Not with a sanitizer, which needs more of its own.
	case ${B:-build} in *san*) ;; *) ulimit -v 300000 ;; esac
	"$k2hft" verify --expect-all 100 -
) >"$dir/said" 2>&1
status=$?
[ $status = 3 ] || fail "status $status"
says 'standard input: byte 209720201: longer than any record: 209715203 bytes$'
says '^100 records, 0 missing, 0 repeated, 0 out of order, 1 damaged line, 2 foreign$'
