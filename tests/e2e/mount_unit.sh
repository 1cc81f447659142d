#!/bin/sh
# SPDX-License-Identifier: MIT
# The command of k2hftfuse@.service, with environment and words as systemd makes them, mounts a path with a dash, whose
# instance is my\x2dlogs.
[ "$(id -u)" = 0 ] || { echo "SKIP: allow_other is for root"; exit 77; }
. tests/tools/mount.sh
mnt=$work/my-logs
mkdir "$mnt"
start_receiver
sender_config
mv "$work/slave.ini" "$work/my\\x2dlogs.ini"
sed "s|@bindir@|$bin|g; s|/etc/k2hft|$work|g; s|%f|$mnt|g; s|%i|my\\\\x2dlogs|g" packaging/systemd/k2hftfuse@.service.in >"$work/unit"
grep -qxF "ConditionPathExists=$work/my\\x2dlogs.ini" "$work/unit" || fail "$(cat "$work/unit")"
# systemd would end the keeper, too, when the kernel kills the worker for want of memory.
grep -qx OOMPolicy=continue "$work/unit" || fail "a worker that is killed for want of memory ends the unit"
# shellcheck disable=SC2046
env $(sed -n 's/^Environment=//p' "$work/unit") $(sed -n 's/^ExecStart=//p' "$work/unit") 2>>"$work/mount.err" &
mount_pid=$!
until_true 20 mount_up || fail "the mount does not come"
! gone "$mount_pid" || fail "k2hftfuse ended"
echo line >"$work/expected"
quick cp "$work/expected" "$mnt/senddir/file" || fail write
arrives "$work/expected" senddir/file
kill $mount_pid # as a unit without ExecStop= is stopped
wait_mount || fail "status $?"
