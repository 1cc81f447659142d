#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines that come in pieces, from one open file and from many that are closed in between.
. tests/tools/mount.sh
start_receiver
start_mount
quick sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf a >>'$sent/twenty'; done" || fail printf
printf aaaaaaaaaaaaaaaaaaaa >"$work/twenty"
arrives "$work/twenty" senddir/twenty

quick sh -c "for i in 1 2 3 4 5 6 7 8 9; do printf \$i >>'$sent/order'; printf 'x\n' >>'$sent/order'; done" || fail printf
for i in 1 2 3 4 5 6 7 8 9; do printf '%sx\n' $i; done >"$work/order"
arrives "$work/order" senddir/order

# A descriptor that a child closes does not end the line.
quick sh -c "{ printf a; /bin/true; printf 'b\n'; } >'$sent/one'" || fail printf
printf 'ab\n' >"$work/one"
arrives "$work/one" senddir/one

# A log that was removed is opened again by its descriptor, as >/dev/stderr does.
exec 3>>"$sent/removed"
echo one >&3
quick rm "$sent/removed"
quick sh -c 'echo two >>/proc/self/fd/3 && echo three >/proc/self/fd/3' || fail "a removed file is not opened again"
echo four >&3
exec 3>&-
printf 'one\ntwo\nthree\nfour\n' >"$work/removed"
arrives "$work/removed" senddir/removed

# Two writers who do not write whole lines get what they get in any file.
cat >"$work/two.py" <<'END'
import os, sys
one, other = (os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT) for _ in range(2))
for descriptor, text in (one, b"eight "), (other, b"nine\n"), (one, b"goes on\n"):
    os.write(descriptor, text)
END
quick python3 "$work/two.py" "$sent/two" || fail "two writers"
printf 'eight nine\ngoes on\n' >"$work/two"
arrives "$work/two" senddir/two
stop_mount || fail "status $? of k2hftfuse"

# The direct way: what one of them has not ended does not get into the other's line.
settings='WRITEMODE = direct'
start_mount
quick python3 "$work/two.py" "$sent/direct" || fail "two writers"
printf 'nine\neight goes on\n' >"$work/direct"
arrives "$work/direct" senddir/direct
# A line that one writer has left is ended for the other, long as it is, and harms nothing of the other's.
quick python3 - "$sent/left" <<'END' || fail "a line that was left"
import os, sys
one, other = (os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT) for _ in range(2))
for _ in range(10):
    os.write(one, b"o" * 100000)
    os.close(os.dup(one))
    os.write(other, b"x" * 999 + b"\n")
END
python3 -c 'print(("o" * 100000 + "x" * 999 + "\n") * 10, end="")' >"$work/left"
arrives "$work/left" senddir/left
settings=
stop_mount || fail "status $? of k2hftfuse"

# In one file for all, each unterminated record is a line of its own.
stop_receiver
receiver_settings='FILE_UNIFY = unify.log'
start_receiver
start_mount
quick sh -c "for i in 1 2 3; do printf a\$i >>'$sent/x'; done; { printf a; /bin/true; printf 'b\n'; } >'$sent/y'" ||
	fail printf
stop_mount || fail "status $? of k2hftfuse"
printf 'a1\na2\na3\nab\n' >"$work/unify"
sort "$received/unify.log" >"$work/got"
cmp "$work/unify" "$work/got" || fail "unterminated records in FILE_UNIFY"
