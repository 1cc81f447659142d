#!/bin/sh
# SPDX-License-Identifier: MIT
# Every byte arrives as it was written: no LF, CR LF, NUL, all byte values, one byte, in pieces of any size.
. tests/tools/mount.sh
start_receiver
start_mount

printf x >"$work/one"
printf 'first\nno end' >"$work/no_lf"
printf '\n\n\na\n\nb\n' >"$work/empty_lines"
printf 'dos\r\nlone\rcr\r\n' >"$work/cr"
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 8)' >"$work/all"
dd if=/dev/urandom of="$work/random" bs=1M count=3 status=none
seq 1 200000 >"$work/lines"

for name in one no_lf empty_lines cr all random lines; do
	quick sh -c "cat '$work/$name' >'$sent/$name'" || fail "cat $name"
done
quick cp "$work/random" "$sent/copied" || fail cp
for size in 1 7 4096 1M; do
	head -c 30000 "$work/random" >"$work/short"
	quick dd if="$work/short" of="$sent/dd.$size" bs=$size status=none || fail "dd bs=$size"
done
: | quick tee "$sent/empty" || fail "empty file"
[ -z "$(cat "$sent/empty")" ] || fail "an empty file is not empty"

for name in one no_lf empty_lines cr all random lines; do
	arrives "$work/$name" "senddir/$name"
done
arrives "$work/random" senddir/copied
for size in 1 7 4096 1M; do
	arrives "$work/short" "senddir/dd.$size"
done

# posix_fallocate(3) makes a file longer, once, and writes nothing to it, with appends in the page cache and without.
for flags in O_APPEND O_TRUNC; do
	quick python3 - "$sent/allocated.$flags" $flags <<'END' || fail "posix_fallocate with $flags"
import ctypes, errno, os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | getattr(os, sys.argv[2]))
os.write(file, b"a\n")
os.posix_fallocate(file, 0, 100000)
os.posix_fallocate(file, 0, 5)
assert os.fstat(file).st_size == 100000
os.write(file, b"b\n")
assert os.fstat(file).st_size == (100002 if sys.argv[2] == "O_APPEND" else 100000)
hole = ctypes.CDLL(None, use_errno=True).fallocate(file, 3, ctypes.c_long(0), ctypes.c_long(4096))
assert hole == -1 and ctypes.get_errno() == errno.EOPNOTSUPP, ctypes.get_errno()
END
	printf 'a\nb\n' >"$work/allocated"
	arrives "$work/allocated" "senddir/allocated.$flags"
done
stop_mount || fail "status $? of k2hftfuse"
grep -q 'everything is acknowledged' "$work/mount.err" || fail "no word of acknowledgement"
