#!/bin/sh
# SPDX-License-Identifier: MIT
# A file of the mount that is copied within it is read as empty: no zeros take the place of what was written. Where there is
# an OUTPUTFILE that is what is copied.
. tests/tools/mount.sh
start_receiver
start_mount
seq 2000 >"$work/lines"
quick cp "$work/lines" "$sent/written" || fail "cp"
quick sh -c "cat '$work/lines' >>'$sent/appended'" || fail ">>"
for name in written appended; do
	quick cp "$sent/$name" "$sent/$name.copy" || fail "cp of $name"
	[ "$(quick stat -c %s "$sent/$name.copy")" = 0 ] || fail "the copy of $name has $(stat -c %s "$sent/$name.copy") bytes"
	[ "$(quick stat -c %s "$sent/$name")" = "$(stat -c %s "$work/lines")" ] || fail "$name has $(stat -c %s "$sent/$name") bytes"
done
# A file with a hole, as a log that was cut under its writer has: cp passes over it unless it is told not to.
truncate -s 1M "$work/sparse"
printf 'end\n' >>"$work/sparse"
quick cp --sparse=always "$work/sparse" "$sent/seeked" || fail "cp of a file with a hole"
quick cp --sparse=never "$work/sparse" "$sent/whole" || fail "cp of a file with a hole, as zeros"
for name in seeked whole; do
	[ "$(quick stat -c %s "$sent/$name")" = 1048580 ] || fail "$name has $(stat -c %s "$sent/$name") bytes"
done
stop_mount || fail "status $? of k2hftfuse"
for name in written appended; do
	cmp "$work/lines" "$received/senddir/$name" || fail "$name did not arrive"
	[ ! -s "$received/senddir/$name.copy" ] || fail "of the copy of $name came $(od -c "$received/senddir/$name.copy" | head -n 3)"
done
cmp "$work/sparse" "$received/senddir/whole" || fail "the zeros of a hole did not arrive"
printf 'end\n' | cmp - "$received/senddir/seeked" || fail "a hole was not passed over"

rules="$rules
[K2HFTFUSE_RULE]
TARGET = out
OUTPUTFILE = $work/out
DEFAULTALL = ALLOW"
start_mount
quick cp "$work/lines" "$mnt/out" || fail "cp to a file with OUTPUTFILE"
quick cp "$mnt/out" "$sent/out.copy" || fail "cp of a file with OUTPUTFILE"
arrives "$work/lines" senddir/out.copy
stop_mount || fail "status $? of k2hftfuse"

# Without the page cache the kernel takes it for short when its pages are read, yet what is appended makes it longer.
settings='WRITEMODE = direct'
start_mount
quick python3 - "$sent/read" <<'END' || fail "appended behind what was read"
import os, sys
appends = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
reads = os.open(sys.argv[1], os.O_RDONLY)
for count in range(1, 4):
    os.write(appends, b"line\n")
    os.sendfile(os.memfd_create("copy"), reads, 0, 100)
    os.posix_fadvise(reads, 0, 0, os.POSIX_FADV_WILLNEED)
    os.write(appends, b"line\n")
    assert os.fstat(appends).st_size == 10 * count, os.fstat(appends)
END
stop_mount || fail "status $? of k2hftfuse"
[ "$(sort "$received/senddir/read" | uniq -c | tr -d ' \n')" = 6line ] || fail "read: $(cat "$received/senddir/read")"
