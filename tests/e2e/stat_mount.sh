#!/bin/sh
# SPDX-License-Identifier: MIT
# Records that a mount drops, cuts, gives up and sends again are counted, and k2hft stat says so: of the mount, and of its ring.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
# shellcheck source=tests/tools/counted.inc
. tests/tools/counted.inc
k2hft=$bin/k2hft

at_least() {
	[ "$(counted "$1" "$2")" -ge "$3" ]
}
becomes_at_least() {
	until_true 60 at_least "$@" || fail "$2 is $(counted "$1" "$2"), not $3 or more"
}
lossy() { losing "$1" "$work/shown"; }

rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
[K2HFTFUSE_RULE]
TARGET = copied
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = /dev/full'
settings="K2HTYPE = file
K2HFILE = $work/ring
RINGSIZE = 64K
LINEMAX = 1K
BYTELIMIT = 100
RINGFULL = drop
EXPIRE = 2
DRAINTIMEOUT = 5"
fixed_port=yes
start_receiver
start_mount
echo first >"$sent/log"
until_true 30 test -s "$received/senddir/log" || fail "the first record"
# A claim that the mount makes for each request and gives back is nobody's death.
claims=$(counted "$mnt" ring_discarded_claims)
[ "$claims" = 0 ] || fail "$claims discarded claims"
lossy "$mnt" && fail "a loss already: $(cat "$work/shown")"

seq -s ' ' 100 >"$sent/long"
becomes_at_least "$mnt" mount_long_records 1
echo copied >"$mnt/copied"
becomes_at_least "$mnt" mount_output_errors 1
lossy "$mnt" || fail "no loss: $(cat "$work/shown")"
lossy "$work/ring" && fail "a loss in the ring: $(cat "$work/shown")"

# Without a receiver the ring fills; what is in it waits longer than EXPIRE.
stop_receiver
becomes_at_least "$mnt" ring_connect_failures 1
seq 1 100000 >"$sent/log"
becomes_at_least "$mnt" ring_dropped_records 1000
sleep 3
start_receiver
becomes_at_least "$mnt" ring_connects 2
becomes_at_least "$mnt" ring_expired_records 100
becomes_at_least "$mnt" ring_discarded_ranges 1
becomes_at_least "$mnt/.k2hft-ring" ring_expired_records 100
[ "$(counted "$mnt" ring_committed_records)" -gt 100 ] || fail "committed"

# A mount that does not answer is no reason to hang.
kill -STOP "$mount_pid"
until_true 20 worker_of "$mount_pid" || fail "no worker"
kill -STOP "$worker"
quick "$k2hft" stat --timeout 1 "$mnt" 2>"$work/said"
status=$?
kill -CONT "$worker" "$mount_pid"
[ $status = 1 ] || fail "status $status"
grep -q 'no answer in time' "$work/said" || fail "$(cat "$work/said")"
stop_mount || fail "status $? of k2hftfuse"
grep -q 'mount: ended; of [0-9]* records [0-9]* were given up' "$work/mount.err" || fail "$(tail -n 3 "$work/mount.err")"

# The ring's file keeps its counters, and is not changed by who looks.
cp "$work/ring" "$work/before"
at_least "$work/ring" ring_dropped_records 1000 || fail "dropped"
lossy "$work/ring" || fail "no loss: $(cat "$work/shown")"
grep -q 'sender does not run' "$work/shown" || fail "$(cat "$work/shown")"
cmp "$work/ring" "$work/before" || fail "the ring was changed"
chmod 400 "$work/ring"
quick "$k2hft" stat "$work/ring" >/dev/null || fail "a ring that may only be read"
head -c 4096 "$work/before" >"$work/cut"
for wrong in "$work/cut" "$work" "$work/nowhere" /dev/null "$work/slave.ini"; do
	quick "$k2hft" stat "$wrong" >/dev/null 2>"$work/said"
	[ $? = 1 ] || fail "$wrong is taken"
	[ "$(wc -l <"$work/said")" = 1 ] || fail "$wrong: $(cat "$work/said")"
done
exit 0
