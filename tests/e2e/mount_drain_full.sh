#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount ends with a full ring: of what its writers were told that it is written, all is in the ring's file, or is reported
# as lost, the begun line of a file that is closed included.
. tests/tools/mount.sh
settings="RINGSIZE = 1M
DRAINTIMEOUT = 1
K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no"
start_receiver
stop_receiver
fixed_port=yes
start_mount
exec 9>"$sent/begun"
printf 'line\nhalf' >&9
python3 tests/tools/write_numbers.py "$sent/blocked" >"$work/accepted" &
writer=$!
until_true 20 ring_full 130 || fail "the ring does not fill"
exec 9>&-
kill $mount_pid
wait_mount && fail "status 0 although records are lost"
wait $writer || fail "the writer"
lost=$(sed -n 's/.*mount: \([0-9]*\) records that were accepted are lost.*/\1/p' "$work/mount.err")
[ -n "$lost" ] || fail "no word of what is lost"

# The next one has the time that it needs.
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no"
start_receiver
start_mount
stop_mount || fail "status $?"
printf 'line\n' | cmp - "$received/senddir/begun" || fail "the begun line's file"
head -c "$(wc -c <"$received/senddir/blocked")" "$work/accepted" | cmp - "$received/senddir/blocked" ||
	fail "what was kept is not what was written"
# A last line without its end is a record, too.
accepted=$(grep -c '' "$work/accepted")
arrived=$(wc -l <"$received/senddir/blocked")
[ $((arrived + lost)) = $((accepted + 1)) ] || fail "$accepted and one accepted, $arrived arrived, $lost reported"
