#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# With FILE_SYNC = always, where acknowledgements wait for the disk, the receiver does what it does without.
set -u
here=$(dirname "$0")
export RECEIVER_LINES='FILE_SYNC = always'
for test in receiver_disk_full receiver_rotation receiver_killed receiver_kill_loop receiver_identical receiver_unify; do
	output=$("$here/$test.sh" 2>&1)
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || {
		echo "FAILED: $test with $RECEIVER_LINES"
		echo "$output"
		exit 1
	}
done
