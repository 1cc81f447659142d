#!/bin/sh
# SPDX-License-Identifier: MIT
# Records of k2hft verify --make arrive through a mount, however they are written.
. tests/tools/mount.sh
dir=$work
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
start_receiver
start_mount
make_records --size 24-2K -n 20000 "$sent/plain"
make_records --size 10 --write-bytes 10 -n 5000 "$sent/dd"
make_records --append-each -n 5000 "$sent/each"
make_records --reopen -n 300 "$sent/reopen"
make_records --append-each --producers 3 --shared -n 3000 "$sent/shared"
make_records --producers 3 --size 100-10K -n 3000 "$sent/own"
make_records --size 3M-10M -n 5 "$sent/large"
make_records --sync -n 100 "$sent/sync"
reads 0 --only --expect-all 100 "$received/senddir/sync"
"$k2hft" verify --make -n 4000 --attach "$mnt/.k2hft-ring" -t senddir/attached >"$dir/said" 2>&1 || fail "--attach"
reads 0 --only --expect-all 4000 "$received/senddir/attached"
stop_mount || fail "status $? of k2hftfuse"
k2hft=$bin/k2hft
cd "$received/senddir" || fail "nothing arrived"
reads 0 --only --expect-all 20000 plain
reads 0 --only --expect-all 5000 dd
reads 0 --only --expect-all 5000 each
reads 0 --only --expect-all 300 reopen
reads 0 --only --expect-all 3000 --producers 3 shared
reads 0 --only --expect-all 3000 --producers 3 own.1 own.2 own.3
reads 0 --only --expect-all 5 large
