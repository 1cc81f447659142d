#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring that connects again ends its older connection; an older epoch is refused.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
wire >"$dir/old" <<END &
hello ring 5 0
welcome
stream 1 text f
chunk 1 0 one\n
flush
ack
error
closed
END
old=$!
wait_until grep -qs '^ack 40' "$dir/old"
sends 'ring 5 40' f two
wait $old || fail "the old connection: $(cat "$dir/old")"
grep -q '^error 4 ' "$dir/old" || fail "$(cat "$dir/old")"
grep -q '^welcome position 40 known' "$dir/said" || fail "$(cat "$dir/said")"
printf 'hello ring 4 0\nerror\n' | wire | grep -q '^error 4 ' || fail "an older epoch"
receiver_stop TERM
receiver_start
printf 'hello ring 4 0\nerror\n' | wire | grep -q '^error 4 ' || fail "an older epoch after a restart"
printf 'one\ntwo\n' | cmp - "$dir/out/f" || fail "file"
