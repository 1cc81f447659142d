#!/bin/sh
# SPDX-License-Identifier: MIT
# With OPENMODE = dsync and sync, and with small writes, the receiver does what it does with the page cache.
# shellcheck source=tests/tools/again.inc
. tests/tools/again.inc
export RECEIVER_LINES='OPENMODE = dsync
WRITEBUF = 4K'
again receiver_disk_full receiver_rotation receiver_killed receiver_kill_loop
RECEIVER_LINES='OPENMODE = sync
CACHE = keep'
again receiver_rotation receiver_killed
