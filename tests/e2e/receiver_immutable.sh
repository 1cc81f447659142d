#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that nobody may write any more (chattr +i) while the receiver has it open: what comes for it goes to the quarantine,
# as it would after a restart, and it holds up no other file of its sender.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
trap 'code=$?; chattr -i "$dir/out/f" 2>/dev/null; receiver_cleanup; exit $code' EXIT
mkdir "$dir/out"
: >"$dir/out/f"
chattr +i "$dir/out/f" 2>/dev/null || skip "no chattr +i here"
chattr -i "$dir/out/f"
receiver_control
receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
mkfifo "$dir/script"
wire <"$dir/script" >"$dir/said" &
sender=$!
exec 3>"$dir/script"
printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text f' 'stream 2 text beside' 'chunk 1 0 before\n' flush ack >&3
wait_until arrived f 7
chattr +i "$dir/out/f"
printf '%s\n' 'chunk 1 0 aside\n' 'chunk 2 0 beside\n' flush ack bye >&3
exec 3>&-
wait $sender || fail "$(cat "$dir/said")"
is quarantined_chunks 1 || fail "chunks in quarantine: $(counter quarantined_chunks)"
grep -q '^aside$' "$dir/out/.k2hft/quarantine/"*-* || fail "what is in the quarantine"
grep -q '^beside$' "$dir/out/beside" || fail "what is beside it"

chattr -i "$dir/out/f"
sends 'ring 1 0' f after
printf '%s\n' before after >"$dir/wanted"
cmp "$dir/wanted" "$dir/out/f" || fail "the file"
if ! is replaced_files 0 || ! is uncut_files 0; then
	fail "counters"
fi
receiver_stop TERM
