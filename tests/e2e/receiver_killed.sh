#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that was killed between data and ledger cuts the data back when it starts again, and the sender goes on
# where the ledger says.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
sends 'ring 1 0' f one
receiver_stop KILL
# As if it had died within a commit group.
printf 'two\nhalf of thr' >>"$dir/out/f"
receiver_start
logged 'f cut back by 15 bytes' || fail "not cut back"
printf 'one\n' | cmp - "$dir/out/f" || fail "file after the start"
sends 'ring 1 0' f two three
grep -q '^welcome position 40 known' "$dir/said" || fail "$(cat "$dir/said")"
printf 'one\ntwo\nthree\n' | cmp - "$dir/out/f" || fail "file at the end"

# After a clean end nothing is cut: what is there more is not the receiver's.
receiver_stop TERM
printf 'by hand\n' >>"$dir/out/f"
receiver_start
printf 'one\ntwo\nthree\nby hand\n' | cmp - "$dir/out/f" || fail "cut after a clean end"
