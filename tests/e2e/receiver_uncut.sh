#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that nobody may cut (chattr +a): what was written there and not entered in the ledger stays, and so comes twice;
# that is counted and said, while the receiver runs and when it starts.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
trap 'code=$?; chattr -a "$dir/out/f" 2>/dev/null; receiver_cleanup; exit $code' EXIT
mkdir "$dir/out"
: >"$dir/out/f"
if ! command -v prlimit >/dev/null || ! chattr +a "$dir/out/f" 2>/dev/null; then
	skip "no chattr +a here, or no prlimit"
fi
chattr -a "$dir/out/f"

receiver_control

receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
{
	printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text f'
	number=0
	while [ $number -lt 40 ]; do
		printf '%s\n' 'chunk 1 0 line\n' flush ack
		number=$((number + 1))
	done
	echo bye
} | wire >"$dir/said" || fail "$(cat "$dir/said")"
is uncut_files 0 || fail "uncut files: $(counter uncut_files)"

# The ledger, which is longer than the file, can't grow: what the file got is to be cut off again.
chattr +a "$dir/out/f"
prlimit --pid "$pid" --fsize=1000:
wire >"$dir/said" <<'END' &
hello ring 2 0
welcome
stream 1 text f
chunk 1 0 twice\n
flush
ack
bye
END
sender=$!
wait_until above uncut_files 0
wait_until logged "output: f can't be cut back to 200 bytes (Operation not permitted); that is tried again before"
wait_until logged 'output: what was to be cut off f stays: records can be there twice'
wait_until is held_now 1
prlimit --pid "$pid" --fsize=unlimited:
wait $sender || fail "$(cat "$dir/said")"
[ "$(grep -c twice "$dir/out/f")" -gt 1 ] || fail "it is there once"
lossy || fail "no loss: $(cat "$dir/shown")"

# Killed: it can't even be opened by who would cut it.
receiver_stop KILL
printf 'not acknowledged' >>"$dir/out/f"
receiver_start
is uncut_files 1 || fail "uncut files at the start: $(counter uncut_files)"
is cut_bytes 0 || fail "something was cut"
logged "output: f can't be opened (Operation not permitted): what was not acknowledged in it can't be cut off" ||
	fail "no word of it"
receiver_stop TERM
