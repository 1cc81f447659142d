#!/bin/sh
# SPDX-License-Identifier: MIT
# Records that a mount refuses, loses out of the page cache, cuts, or can't match in time are counted and reported, too.
. tests/tools/mount.sh
# shellcheck source=tests/tools/counted.inc
. tests/tools/counted.inc

# counter NAME
counter() { counted "$mnt" "$1"; }
is() { [ "$(counter "$1")" = "$2" ]; }
above() { [ "$(counter "$1")" -gt "$2" ]; }
becomes() {
	until_true 60 "$@" || fail "$2 is $(counter "$2"), not $1 $3"
}
said() { grep -q "$1" "$work/mount.err"; }

mkdir "$work/copies" "$work/copies/taken"
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
[K2HFTFUSE_RULE_DIR]
TARGET = copied
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = '$work/copies/'
[K2HFTFUSE_RULE]
TARGET = slow
TRUNS = on
ALLOW = "^(a+)+$"
[K2HFTFUSE_RULE]
TARGET = local
TRUNS = off
DEFAULTALL = ALLOW
OUTPUTFILE = /dev/full'
settings='RINGSIZE = 64K
LINEMAX = 1K
WRITEMODE = cached
DRAINTIMEOUT = 1'
fixed_port=yes
start_receiver
start_mount

quick sh -c "echo one >'$mnt/copied/taken'" 2>/dev/null && fail "its OUTPUTFILE is a directory, and it is opened"
is mount_refused_opens 1 || fail "refused opens: $(counter mount_refused_opens)"
said 'copied/taken is not opened: Is a directory' || fail "no word of a file that is not opened"

printf '%060db\n' 0 | tr 0 a >"$mnt/slow"
becomes above mount_slow_patterns 0
said 'the regular expression takes too long' || fail "no word of a slow expression"
becomes above mount_filtered_records 0
said 'slow: 1 records that its rule does not let pass' || fail "no word of a record that was filtered"

# Nobody waits for what the kernel has in its cache, so nobody can be told.
printf 'one\ntwo\n' >>"$mnt/local"
becomes is mount_lost_records 2
said 'records of local are lost: No space left' || fail "no word of lost records"
[ "$(counter mount_output_errors)" -gt 0 ] || fail "output errors"
losing "$mnt" "$work/shown" || fail "no loss: $(cat "$work/shown")"

seq -s ' ' 1000 >"$sent/long"
becomes is mount_pieces 3
said 'a record of senddir/long goes in pieces' || fail "no word of a record in pieces"

# A ring that is full: what waits, and a writer that does not wait any longer.
stop_receiver
is mount_refused_writes 0 || fail "a write was refused: $(counter mount_refused_writes)"
is mount_waiting_bytes 0 || fail "something waits: $(counter mount_waiting_bytes)"
seq 1 100000 >"$work/in"
cat "$work/in" >"$sent/blocked" &
writer=$!
becomes above mount_waiting_bytes 0
quick python3 tests/tools/interrupted_write.py "$sent/third" || fail "an interrupted writer"
becomes is mount_refused_writes 1
said 'a write is refused: Interrupted system call' || fail "no word of a write that was refused"
start_receiver
wait $writer || fail "status $? of the blocked writer"
becomes is mount_waiting_bytes 0
becomes is ring_unacked_records 0
stop_mount
[ $? = 1 ] || fail "k2hftfuse does not end with the status of a loss"
said '2 records that were accepted are lost' || fail "no word of lost records in the end"
