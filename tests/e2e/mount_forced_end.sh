#!/bin/sh
# SPDX-License-Identifier: MIT
# umount -f of a mount in use leaves a mount without server, and what was in the page cache is lost: the log and the status
# say so, what was in the ring is sent, and root begins anew.
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] || skip "not root"
start_receiver
start_mount
quick sh -c "echo one >'$sent/f'" || fail "a write"
exec 9>>"$sent/f" || fail "no open file"
quick umount -f "$mnt" 2>/dev/null && fail "umount -f of a mount in use succeeds"
wait_mount && fail "status 0 of k2hftfuse"
exec 9>&-
grep -q 'the kernel has ended it, .* page cache, if anything, is lost' "$work/mount.err" || fail "no word of it"
grep -q 'everything is acknowledged (1 records)' "$work/mount.err" || fail "not drained"
quick ls "$sent" 2>/dev/null && fail "a mount without server answers"
start_mount
# The kernel's memory of the old one is no sign of the new one.
until_true 20 quick grep -qs '"pid"' "$mnt/.k2hft-stat" || fail "the new mount does not come"
quick sh -c "echo two >>'$sent/f'" || fail "a new mount"
stop_mount || fail "status $? of the new mount"
# For a mount that nobody uses it is an unmount.
start_mount
quick umount -f "$mnt" || fail "umount -f of a mount that nobody uses"
wait_mount || fail "status $? after umount -f"
[ "$(grep -c 'the kernel has ended it' "$work/mount.err")" = 1 ] || fail "an unmount counts as an abort"
printf 'one\ntwo\n' | cmp - "$received/senddir/f" || fail "what was written"
