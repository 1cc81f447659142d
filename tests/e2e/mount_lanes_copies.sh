#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HTPDTOR_BROADCAST: three receivers get the same, byte for byte; COPIES = 2 of 4: each file comes to two, and without one
# receiver's disk nothing is lost. So too if the worker is killed time and again, and with RINGFULL = block while one is
# away: then who writes waits for it.
# shellcheck disable=SC2086 # words
. tests/tools/mount.sh
. tests/tools/lanes.inc
settings='RINGSIZE = 256K
DRAINTIMEOUT = 30'
rules="$rules
WRITEMODE = direct"
worker_kill() { kill -9 "$(pgrep -P "$mount_pid")"; }
any_runs() {
	for writer in "$@"; do
		ended "$writer" || return 0
	done
	return 1
}
# A file's second half is written when the worker has died three times, however fast the first was.
write_file() {
	{
		seq -f "$1 $2 %.0f" 50000
		until [ -e "$work/$1.deaths" ]; do
			sleep 0.05
		done
		seq -f "$1 $2 %.0f" 50001 100000
	} >>"$sent/$1$2"
}
# write_files NAME: twelve files, each by a process of its own, while the worker dies ten times a second
write_files() {
	writers=
	for file in $(seq 12); do
		write_file "$1" "$file" &
		writers="$writers $!"
	done
	deaths=0
	while any_runs $writers; do
		worker_kill
		deaths=$((deaths + 1))
		[ $deaths -lt 3 ] || : >"$work/$1.deaths"
		sleep 0.1
	done
	wait $writers
	until_true 60 all_acked || fail "$1: not all is acknowledged"
}
# compare NAME COPIES
compare() {
	for file in $(seq 12); do
		seq -f "$1 $file %.0f" 100000 >"$work/expected"
		copies=0
		for copy in "$work"/r*/senddir/"$1$file"; do
			cmp "$work/expected" "$copy" || fail "$copy"
			copies=$((copies + 1))
		done
		[ $copies = "$2" ] || fail "$copies receivers have $1$file"
	done
}
lanes 3
global='DELIVERMODE = hash
[K2HTPDTOR]
K2HTPDTOR_BROADCAST = yes'
start_mount
write_files all
compare all 3
down 3
seq -f "waits %.0f" 200000 >>"$sent/waits" &
waits=$!
full() { [ "$(lane 3 unacked_bytes)" -gt 200000 ]; }
until_true 30 full || fail "lane 3 has $(lane 3 unacked_bytes) bytes"
sleep 0.5
worker_kill
gone $waits && fail "who writes does not wait for the receiver that is away"
up 3
wait $waits || fail "status $? of who waited"
until_true 60 all_acked || fail "not all is acknowledged"
for number in 1 2 3; do
	seq -f "waits %.0f" 200000 | cmp - "$work/r$number/senddir/waits" || fail "receiver $number"
done
stop_mount || fail "status $? of k2hftfuse"

lanes_end
lanes 4
global='DELIVERMODE = hash'
settings="$settings
COPIES = 2"
start_mount
write_files some
compare some 2
stop_mount || fail "status $? of k2hftfuse"
