#!/bin/sh
# SPDX-License-Identifier: MIT
# Without /dev/fuse a mount says how to get it.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] || skip "it needs root"
pick_port
sender_config
# shellcheck disable=SC2016
quick unshare -m sh -c '
	mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 || exit 77
	exec "$@"' sh "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/mount.err"
status=$?
[ $status != 77 ] || skip "no right to mount"
[ $status = 1 ] || fail "status $status"
grep -q '/dev/fuse.*modprobe fuse.*--device /dev/fuse' "$work/mount.err" || fail "no hint"
