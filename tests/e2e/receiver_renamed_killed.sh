#!/bin/sh
# SPDX-License-Identifier: MIT
# A receiver that was killed between data and ledger, and whose files somebody renames before it starts again, as rotation
# does: beside its old name the file is found and cut back; one that is not there any more is counted and said.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control

receiver_config '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start

# Sends the lines "one" to `f` and `sub/g`, or what their streams get then.
both_send() {
	wire >"$dir/said" <<END || fail "sending $1"
hello ring 1 0
welcome
stream 1 text f
stream 2 text sub/g
chunk 1 0 $1\n
chunk 2 0 $1\n
flush
ack
END
}

both_send one
receiver_stop KILL
printf 'half of tw' >>"$dir/out/f"
printf 'two\nhalf of thr' >>"$dir/out/sub/g"
mv "$dir/out/f" "$dir/out/f.1"
mv "$dir/out/sub/g" "$dir/out/sub/g.1"
echo 'of another' >"$dir/out/sub/g"
receiver_start
logged 'f.1 cut back by 10 bytes' || fail "f.1 not cut back"
logged 'sub/g.1 cut back by 15 bytes' || fail "sub/g.1 not cut back"
is cut_bytes 25 || fail "cut bytes: $(counter cut_bytes)"
is uncut_files 0 || fail "uncut files: $(counter uncut_files)"
both_send two
printf 'one\n' | cmp - "$dir/out/f.1" || fail "f.1 is not what was committed"
printf 'one\n' | cmp - "$dir/out/sub/g.1" || fail "sub/g.1 is not what was committed"
printf 'two\n' | cmp - "$dir/out/f" || fail "f"
printf 'of another\ntwo\n' | cmp - "$dir/out/sub/g" || fail "sub/g"

# Elsewhere nobody looks for it.
receiver_stop KILL
printf 'half of thr' >>"$dir/out/f"
mkdir "$dir/out/old"
mv "$dir/out/f" "$dir/out/old/f"
receiver_start
logged 'f is gone, or another file now, and the one of [1-9][0-9]* bytes is not in its directory' || fail "no word of f"
is uncut_files 1 || fail "uncut files: $(counter uncut_files)"
is cut_bytes 0 || fail "something was cut"
lossy || fail "no loss: $(cat "$dir/shown")"
receiver_stop TERM
