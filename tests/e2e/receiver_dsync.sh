#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# With OPENMODE = dsync and sync, and with small writes, the receiver does what it does with the page cache.
set -u
here=$(dirname "$0")
again() {
	output=$("$here/$1" 2>&1)
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || {
		echo "FAILED: $1 with $RECEIVER_LINES"
		echo "$output"
		exit 1
	}
}
export RECEIVER_LINES='OPENMODE = dsync
WRITEBUF = 4K'
again receiver_disk_full.sh
again receiver_rotation.sh
again receiver_killed.sh
again receiver_kill_loop.sh
RECEIVER_LINES='OPENMODE = sync
CACHE = keep'
again receiver_rotation.sh
again receiver_killed.sh
