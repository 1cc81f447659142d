#!/bin/sh
# SPDX-License-Identifier: MIT
# testio measures a small grid and prints table, advice and files; it refuses what is wrong, and leaves nothing behind.
set -u
k2hft=${B:-build}/bin/k2hft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/disk"

fail() {
	echo "$*"
	cat "$dir/output" "$dir/errors"
	exit 1
}

# expect STATUS TEXT ARGUMENT...: testio ends so, says so, and leaves the directory as it was
expect() {
	wanted=$1 text=$2
	shift 2
	before=$(ls -A "$dir/disk")
	"$k2hft" testio "$@" >"$dir/output" 2>"$dir/errors" </dev/null
	status=$?
	[ $status = "$wanted" ] || fail "testio $*: status $status, not $wanted"
	grep -q -e "$text" "$dir/output" "$dir/errors" || fail "testio $*: does not say: $text"
	[ "$(ls -A "$dir/disk")" = "$before" ] || fail "testio $*: leaves $(ls -A "$dir/disk")"
}

grid='-s 2 -n 2 -b 4,64,1024 -w 1,2,3 -f 2 -m both'
# shellcheck disable=SC2086
expect 0 'best read: ' $grid --tsv "$dir/tsv" --json "$dir/json" "$dir/disk"
# Cells with one thread have one file only.
grep -q 'warning: 2 MB are less than this machine.s memory' "$dir/errors" || fail "no warning about memory"
[ "$(grep -c -E '^(4|64|1024) +(\|[0-9]+\.[0-9]{2} *){3}$' "$dir/output")" = 6 ] || fail "no two tables"
[ "$(awk -F '\t' 'NR > 1 && NF == 4 && $4 > 0' "$dir/tsv" | wc -l)" = 18 ] || fail "tsv: $(cat "$dir/tsv")"
python3 - "$dir/json" <<'END' || fail "json: $(cat "$dir/json")"
import json, sys
read = json.load(open(sys.argv[1], encoding="utf-8"))
cells = {(cell["way"], cell["buffer_kb"], cell["threads"]) for cell in read["results"]}
assert len(cells) == len(read["results"]) == 18 and min(cell["mb_per_s"] for cell in read["results"]) > 0
assert read["files"] == 2 and read["buffers_kb"] == [4, 64, 1024] and read["direct"] is False
END

# The lines that it recommends are valid in a configuration.
{
	sed -n '/^\[GLOBAL\]$/,$p' "$dir/output"
	printf 'TYPE = file\nFILE_BASEDIR = /received\n[GLOBAL]\nPORT = 8020\n'
} >"$dir/server.ini"
grep -q '^WRITEBUF = ' "$dir/server.ini" || fail "no advice"
"$k2hft" check "$dir/server.ini" >"$dir/checked" 2>&1 || fail "check: $(cat "$dir/checked")"
grep -q ' 0 without effect$' "$dir/checked" || fail "the advice has no effect"
expect 0 '^OPENMODE = sync$' -s 1 -n 1 -b 64 -w 1 -o sync "$dir/disk"
expect 0 '^best read' -s 1 -n 1 -b 64,128 -w 1,2 -m read "$dir/disk"

# Each thread of each run counts what is on the disk. Leaks can't be looked for under strace.
if strace -o /dev/null true 2>/dev/null; then
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq -e trace=fdatasync -o "$dir/trace" \
		"$k2hft" testio -s 1 -n 2 -b 64 -w 3 "$dir/disk" >"$dir/output" 2>"$dir/errors" || fail "under strace"
	[ "$(grep -c 'fdatasync(' "$dir/trace")" = 6 ] || fail "$(cat "$dir/trace")"
fi

expect 1 'No such file' -s 1 "$dir/missing"
expect 1 'it is no directory' -s 1 "$dir/tsv"
expect 1 'MB are needed, .* MB are free' -s 100000000 -f 64 -w 64 "$dir/disk"
# Files that can't be written are told before anything is measured, and others stay as they are.
echo precious >"$dir/old"
expect 1 'No such file' -s 1 -n 1 -b 64 -w 1 --tsv "$dir/missing/tsv" --json "$dir/old" "$dir/disk"
[ ! -s "$dir/output" ] || fail "it measures first"
[ "$(cat "$dir/old")" = precious ] || fail "it overwrites before it has anything"
expect 1 'Is a directory' -s 1 -n 1 -b 64 -w 1 --json "$dir" "$dir/disk"
# A pipe's reader gets the result in the end.
mkfifo "$dir/pipe"
cat "$dir/pipe" >"$dir/read" &
expect 0 '' -s 1 -n 1 -b 64 -w 1 --tsv "$dir/pipe" "$dir/disk"
wait $!
grep -q '^write' "$dir/read" || fail "nothing came through the pipe"
# "-" is standard output, with nothing else in it.
"$k2hft" testio -q -s 1 -n 1 -b 64 -w 1 --tsv - "$dir/disk" >"$dir/output" 2>"$dir/said" || fail "--tsv -"
[ "$(head -n 1 "$dir/output" | cut -f 1)" = way ] || fail "$(cat "$dir/output")"
grep -q MB/s "$dir/output" && fail "$(cat "$dir/output")"
grep -q '^write, MB/s' "$dir/said" || fail "no table"
[ ! -e ./- ] || fail "a file -"
expect 2 'standard output takes one of them' --tsv - --json - "$dir/disk"
# A file that is the standard output already gets both, one behind the other.
expect 0 '' -s 1 -n 1 -b 64 -w 1 --tsv /dev/stdout "$dir/disk"
[ "$(grep -n -a -e '^file  ' -e '^write, MB/s' -e '^way.buffer_kb' "$dir/output" | cut -d : -f 1 | tr '\n' ' ')" = '1 10 25 ' ] ||
	fail "not one behind the other"
expect 2 'a directory is needed' -s 1
expect 2 'no answer' -i
printf '%s\n' "$dir/missing" "$dir/disk" 1 60 1 64,128 1 1 false rw >"$dir/answers"
"$k2hft" testio -i <"$dir/answers" >"$dir/output" 2>"$dir/errors" || fail "the nine answers that were published"
for text in 'missing: No such file' "  File to be written: $dir/disk/test.io" '  Buffer sizes in KB, 2: 64,128'; do
	grep -q -F "$text" "$dir/errors" || fail "the dialogue does not say: $text"
done
head -n 6 "$dir/answers" | "$k2hft" testio -i >"$dir/output" 2>"$dir/errors" && fail "answers that end too early"
grep -q 'no answer: Threads is needed' "$dir/errors" || fail "it does not say which answer there is none to"
[ ! -s "$dir/output" ] || fail "it measures without all answers"
expect 2 '--buffers 128: it was given before' -b 64 -b 128 "$dir/disk"
expect 2 '--threads 2: it was given before' -w 1 --threads 2 "$dir/disk"
expect 2 'dsync and sync are the modes' -o fast "$dir/disk"

# A file of that name is somebody's.
echo precious >"$dir/disk/test.io"
expect 1 'it is there already, and is not overwritten' -s 1 -n 1 -b 64 -w 1 "$dir/disk"
[ "$(cat "$dir/disk/test.io")" = precious ] || fail "it was overwritten"
rm "$dir/disk/test.io"
ln -s "$dir/elsewhere" "$dir/disk/test.io"
expect 1 'it is there already, and is not overwritten' -s 1 -n 1 -b 64 -w 1 "$dir/disk"
[ ! -e "$dir/elsewhere" ] || fail "it followed a symbolic link"
rm "$dir/disk/test.io"

# Ended in the middle of the first cell. A limit of an hour, and more data than it can write before the signal.
"$k2hft" testio -s 100 -n 1000 -t 3600 -b 4 -w 1 -o dsync "$dir/disk" >"$dir/output" 2>"$dir/errors" &
testio=$!
until grep -q '^Max # files' "$dir/output"; do
	kill -0 $testio || fail "it ended by itself"
	sleep 0.05
done
kill -TERM $testio
wait $testio
status=$?
[ $status = 143 ] || fail "after SIGTERM: status $status"
[ -z "$(ls -A "$dir/disk")" ] || fail "it left $(ls -A "$dir/disk")"
