#!/bin/sh
# SPDX-License-Identifier: MIT
# BINTRANS: a write is a record, byte for byte, and is cut nowhere.
. tests/tools/mount.sh
settings='BINTRANS = yes'
start_receiver
start_mount
head -c 5000000 /dev/urandom >"$work/in"
for size in 100 4096 1M 3M; do
	quick dd if="$work/in" of="$sent/$size" bs=$size status=none || fail "dd bs=$size"
	arrives "$work/in" "senddir/$size"
done
printf 'no line end' >"$work/short"
quick cp "$work/short" "$sent/short" || fail cp
# At once: nothing waits for more.
exec 9>"$sent/open"
printf 'part' >&9
printf 'part' >"$work/part"
arrives "$work/part" senddir/open
exec 9>&-
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/short" "$received/senddir/short" || fail "a short block"

# A small ring: blocks go in pieces.
settings='BINTRANS = yes
RINGSIZE = 64K
LINEMAX = 10000'
start_mount
quick dd if="$work/in" of="$sent/small" bs=1M status=none || fail "dd through a small ring"
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/in" "$received/senddir/small" || fail "through a small ring"
