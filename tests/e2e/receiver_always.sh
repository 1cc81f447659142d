#!/bin/sh
# SPDX-License-Identifier: MIT
# With FILE_SYNC = always, where acknowledgements wait for the disk, the receiver does what it does without.
# shellcheck source=tests/tools/again.inc
. tests/tools/again.inc
export RECEIVER_LINES='FILE_SYNC = always'
again receiver_disk_full receiver_rotation receiver_killed receiver_kill_loop receiver_identical receiver_unify
