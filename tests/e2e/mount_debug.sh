#!/bin/sh
# SPDX-License-Identifier: MIT
# -d stays in the foreground and shows what the kernel asks. K2HFTCONFFILE is the configuration, before K2HFTJSONCONF; a
# source with a comma is one option still.
. tests/tools/mount.sh
pick_port
sender_config
K2HFTCONFFILE=$work/slave.ini K2HFTJSONCONF='{}' "$bin/k2hftfuse" 'one,other' "$mnt" -d 2>"$work/mount.err" &
mount_pid=$!
until_true 20 mount_up || fail "the mount does not come"
! gone "$mount_pid" || fail "k2hftfuse ended"
grep -q "^one_other $mnt fuse.k2hftfuse " /proc/self/mounts || fail "$(cat /proc/self/mounts)"
quick mkdir "$sent/made" || fail mkdir
grep -q 'opcode: MKDIR' "$work/mount.err" || fail "a request is not shown"
stop_mount || fail "status $?"
