#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HTPDTOR_EXCEPT_KEY: files whose paths begin so are written and not sent, and others are.
. tests/tools/mount.sh
rules="$rules
OUTPUTFILE = $work/copies/
[K2HTPDTOR]
K2HTPDTOR_EXCEPT_KEY = senddir/secret
K2HTPDTOR_EXCEPT_KEY = /senddir/tmp."
start_receiver
start_mount
mkdir "$sent/secrets"
for file in secrets/a secret tmp.1 open tmp other.tmp.1; do
	seq -f "$file %.0f" 100 >>"$sent/$file" || fail "writing $file"
done
stop_mount || fail "status $? of k2hftfuse"
for file in open tmp other.tmp.1; do
	seq -f "$file %.0f" 100 | cmp - "$received/senddir/$file" || fail "$file"
done
for file in secrets/a secret tmp.1; do
	[ ! -e "$received/senddir/$file" ] || fail "$file was sent"
	seq -f "$file %.0f" 100 | cmp - "$work/copies/$file" || fail "the copy of $file"
done
