#!/bin/sh
# SPDX-License-Identifier: MIT
# A program puts records into the ring of a mount, by way of .k2hft-ring, while files of the mount are written: both
# arrive whole.
. tests/tools/mount.sh
example=${B:-build}/examples/attach_ring
[ -x "$example" ] || { rm -rf "$work"; echo "SKIP: no $example"; exit 77; }
start_receiver
start_mount
seq -f 'attached %.0f' 1 200000 >"$work/attached"
seq -f 'mounted %.0f' 1 2000000 >"$work/mounted"
quick "$example" "$mnt/.k2hft-ring" senddir/attached <"$work/attached" >"$work/out" 2>&1 &
attached=$!
quick cp "$work/mounted" "$sent/mounted" || fail cp
quick dd if="$work/attached" of="$sent/small" bs=700 status=none || fail dd
wait $attached || fail "status $? of the attached program: $(cat "$work/out")"
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/attached" "$received/senddir/attached" || fail "what was attached"
cmp "$work/attached" "$received/senddir/small" || fail "small writes"
cmp "$work/mounted" "$received/senddir/mounted" || fail "large writes"
