#!/bin/sh
# SPDX-License-Identifier: MIT
# Two streams whose files are one, by a hard link: what was acknowledged is not cut off after the receiver was killed.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir "$dir/out"
: >"$dir/out/a"
ln "$dir/out/a" "$dir/out/b"
receiver_config ""
receiver_start
printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text a' 'stream 2 text b' 'chunk 1 0 first\n' 'chunk 2 0 second\n' flush ack |
	wire >"$dir/said" || fail "$(cat "$dir/said")"
printf 'first\nsecond\n' >"$dir/wanted"
cmp "$dir/wanted" "$dir/out/a" || fail "before"
receiver_stop KILL
receiver_start
cmp "$dir/wanted" "$dir/out/a" || fail "after"
receiver_stop TERM
