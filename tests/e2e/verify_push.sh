#!/bin/sh
# SPDX-License-Identifier: MIT
# Records of k2hft verify --make arrive through k2hft push, whole, once and in order, as k2hft verify sees it.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
receiver_config ''
receiver_start
make_records --size 10 -n 50000 "$dir/short"
make_records --size 24-3K -n 20000 "$dir/mixed"
make_records --size 1M-3M -n 10 "$dir/long"
for name in short mixed long; do
	"$k2hft" push -q -r "127.0.0.1:$port" -t $name "$dir/$name" || fail "push $name"
done
reads 0 --only --expect-all 50000 "$dir/out/short"
reads 0 --only --expect-all 20000 "$dir/out/mixed"
reads 0 --only --expect-all 10 "$dir/out/long"
"$k2hft" verify --make -q --rate 20000 -n 30000 /dev/stdout | "$k2hft" push -q -r "127.0.0.1:$port" -t pipe || fail "a pipe"
reads 0 --only --expect-all 30000 "$dir/out/pipe"
receiver_stop TERM
