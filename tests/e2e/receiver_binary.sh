#!/bin/sh
# SPDX-License-Identifier: MIT
# Binary streams arrive as they are, also in a unified file.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
head -c 1000000 /dev/urandom >"$dir/random"
for unify in '' 'FILE_UNIFY = log/all'; do
	receiver_config "$unify"
	receiver_start
	wire <<-END || fail "sending"
		hello ring${unify:+2} 1 0
		welcome
		stream 1 binary blocks
		file 1 $dir/random
		ack
	END
	receiver_stop TERM
done
cmp "$dir/random" "$dir/out/blocks" || fail "the stream's file differs"
cmp "$dir/random" "$dir/out/log/all" || fail "the unified file differs"
