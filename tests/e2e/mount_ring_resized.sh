#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file keeps the size that it was made with: a start with another RINGSIZE says so, one with the same does not.
. tests/tools/mount.sh
pick_port

# says COUNT RINGSIZE: so many of these messages have come when a mount with this size has ended
says() {
	settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
DRAINTIMEOUT = 0
RINGSIZE = $2"
	start_mount
	stop_mount || fail "status $?"
	[ "$(grep -c "K2HFILE $work/ring keeps the size .* 1048576 bytes, not RINGSIZE" "$work/mount.err")" = "$1" ] ||
		fail "with RINGSIZE = $2"
}

says 0 1M
says 0 600K
says 1 2M
says 2 512K
says 2 1M
