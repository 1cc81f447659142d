#!/bin/sh
# SPDX-License-Identifier: MIT
# The first line of k2hft stat says whether all is well, else what waits, since when and why.
. tests/tools/mount.sh
k2hft=$bin/k2hft

verdict() { "$k2hft" stat "$1" 2>&1 | head -n 1; }
# says TARGET PATTERN
# shellcheck disable=SC2317
says() { verdict "$1" | grep -q "$2"; }
comes() { until_true 30 says "$@" || fail "$2: $(verdict "$1")"; }

rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW'
settings="K2HTYPE = file
K2HFILE = $work/ring
RINGSIZE = 64K
RINGFULL = drop"
fixed_port=yes
start_receiver
start_mount
echo first >"$sent/log"
until_true 30 test -s "$received/senddir/log" || fail "the first record"
comes "$mnt" "^$mnt: fine: nothing waits\$"
comes "$work/ring" "^$work/ring: fine: nothing waits\$"

# A receiver that is away is said also while nothing waits for it.
stop_receiver
comes "$mnt" "^$mnt: nothing waits, but 127.0.0.1:$port is not connected: "
for file in one two three; do
	seq 1 100 >"$sent/$file"
done
comes "$mnt" "^$mnt: 300 records of 3 files wait since [0-9][0-9]:[0-9][0-9]:[0-9][0-9] ([0-9]* s): 127.0.0.1:$port is not connected: .*refused"
comes "$work/ring" "^$work/ring: 300 records of 3 files wait since .*: 127.0.0.1:$port is not connected: .*refused"
"$k2hft" stat --json "$mnt" | grep -q '"stream_count": 3' || fail "no streams in JSON"
seq 1 100000 >"$sent/one"
comes "$mnt" 'the ring is full, writers wait or are refused; lost or doubtful since it began: dropped_records [1-9]'

# One that hangs is connected, and no progress.
start_receiver
comes "$mnt" "^$mnt: fine: nothing waits"
kill -STOP "$receiver_pid"
echo more >"$sent/one"
comes "$mnt" "^$mnt: 1 record of 1 file waits since .*: 127.0.0.1:$port is connected, but has acknowledged nothing for [0-9]* s"
kill -CONT "$receiver_pid"

# All is well again, but for what was dropped.
comes "$mnt" "^$mnt: fine: nothing waits; lost or doubtful since it began: dropped_records [1-9]"
stop_mount || fail "status $? of k2hftfuse"
exit 0
