#!/bin/sh
# SPDX-License-Identifier: MIT
# Output that can't be written to standard output is an error of every command of k2hft, and of the daemons' help, said once; and
# a command that goes on for long ends when nobody reads it.
set -u
k2hft=$PWD/${B:-build}/bin/k2hft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}
[ -c /dev/full ] || {
	echo "SKIP: no /dev/full"
	exit 77
}
cd "$dir" || exit 1
printf '[GLOBAL]\nPORT = 8020\n[K2HFTFUSESVR]\nTYPE = file\nFILE_BASEDIR = /tmp\n' >server.ini
"$k2hft" verify --make -q -n 10 records || fail "verify --make"
"$k2hft" bench --by library -n 10 --size 100 --runs 1 --json bench.json >/dev/null || fail "bench"
for arguments in --help --version version help 'help push' 'help PORT' 'push --help' 'verify --help' 'testio --help' \
	'bench --help' 'stat --help' 'check server.ini' 'check --print server.ini' 'check --table' 'stat --table' \
	'verify records' 'verify --json records' 'verify --make -n 1 new' 'testio -s 1 -n 1 -b 64 -w 1 .' \
	'bench --from bench.json' 'bench --compare bench.json bench.json' 'bench --by library -n 10 --runs 1'; do
	# shellcheck disable=SC2086
	"$k2hft" $arguments >/dev/full 2>said
	status=$?
	[ $status = 1 ] || fail "$arguments: status $status"
	[ "$(grep -cE '^k2hft: standard output: (No space left on device|write error)$' said)" = 1 ] || fail "$arguments: $(cat said)"
done
for program in k2hftfuse k2hftfusesvr; do
	for option in --help --version; do
		"${k2hft%/*}/$program" $option >/dev/full 2>said
		status=$?
		[ $status = 1 ] || fail "$program $option: status $status"
		[ "$(grep -c "^$program: standard output: No space left on device$" said)" = 1 ] || fail "$program $option: $(cat said)"
	done
done
# Text that nobody can see is no error where standard output has the results, all of them.
"$k2hft" bench --by library -n 10 --size 10,100 --runs 1 --json - >json 2>&- || fail "bench --json -: status $?"
[ "$(grep -c '"way"' json)" = 2 ] || fail "bench --json -: $(cat json)"
"$k2hft" testio -s 1 -n 1 -b 64 -w 1 --tsv - . >tsv 2>&- || fail "testio --tsv -: status $?"
[ "$(grep -c . tsv)" = 2 ] || fail "testio --tsv -: $(cat tsv)"
# Each line of a list is printed when it is measured: after the first of 16 that nobody reads it ends.
"$k2hft" bench --by library -n 10 --size 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 --runs 1 --tsv rates 2>said | true
[ "$(grep -c . rates)" = 17 ] && fail "it went on to the end"
grep -qE '^k2hft: standard output: (Broken pipe|write error)$' said || fail "$(cat said)"
