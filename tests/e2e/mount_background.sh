#!/bin/sh
# SPDX-License-Identifier: MIT
# In the background: the command returns when the mount is there, whatever the receiver does; the server goes on after
# its terminal; relative paths count from where it was started.
. tests/tools/mount.sh
pick_port
fixed_port=yes
sender_config
servers() {
	pgrep -f -- "$bin/k2hftfuse mnt -o conf=slave.ini"
}
server() {
	servers | head -n 1
}
(cd "$work" && quick setsid "$bin/k2hftfuse" mnt -o conf=slave.ini) >"$work/out" 2>&1 || fail "status $?: $(cat "$work/out")"
mounted || fail "it returned before the mount was there"
mount_pid=$(server)
[ -n "$mount_pid" ] || fail "no server"
[ "$(readlink "/proc/$mount_pid/cwd")" = / ] || fail "its directory is not /"
case $(readlink "/proc/$mount_pid/fd/2") in
/dev/null) ;;
*) fail "standard error is still open" ;;
esac
# The end of the session in which it was started, as of a terminal, is none of its business.
all=$(servers | tr '\n' ' ')
for process in $all; do
	session=$(sed 's/.*) //' "/proc/$process/stat" | cut -d ' ' -f 4)
	case " $all" in
	*" $session "*) ;;
	*) fail "process $process of $all is in session $session" ;;
	esac
done
quick sh -c "echo line >'$sent/f'" || fail "a write without a receiver"
start_receiver
echo line >"$work/expected"
arrives "$work/expected" senddir/f
quick umount "$mnt" 2>/dev/null || quick fusermount3 -u "$mnt" || fail umount
until_true 20 gone "$mount_pid" || fail "the server does not end"
mount_pid=

# It says what is wrong before it goes, with a status.
quick "$bin/k2hftfuse" "$work/none" -o "conf=$work/slave.ini" 2>"$work/out"
[ $? = 1 ] || fail "status for a missing mount point"
grep -q 'none: No such file' "$work/out" || fail "$(cat "$work/out")"
