#!/bin/sh
# SPDX-License-Identifier: MIT
# As a user with fusermount3: mounts, sends, is unmounted by fusermount3 -u and by a signal.
# shellcheck disable=SC2086
# As root: user nobody does it, with a /dev/fuse that it may open, in this test's own mount namespace.
if [ "$(id -u)" = 0 ] && [ -z "${IN_NAMESPACE:-}" ]; then
	command -v setpriv >/dev/null || { echo "SKIP: no setpriv"; exit 77; }
	unshare -m true || { echo "SKIP: no mount namespaces"; exit 77; }
	IN_NAMESPACE=yes exec tests/tools/own_mounts.sh "$0"
fi
command -v fusermount3 >/dev/null || { echo "SKIP: no fusermount3"; exit 77; }
# A folder that other users can get to.
TMPDIR=/tmp
. tests/tools/mount.sh
as_user=
if [ "$(id -u)" = 0 ]; then
	as_user="setpriv --reuid nobody --regid $(id -g nobody) --clear-groups"
	mknod -m 666 "$work/fuse" c 10 229 || fail "no device for nobody"
	mount --bind "$work/fuse" /dev/fuse || fail "no /dev/fuse for nobody"
	mkdir "$work/bin" "$work/lib" || fail mkdir
	cp "$bin/k2hftfuse" "$work/bin/"
	cp "$bin/../lib/libk2hft.so".* "$work/lib/"
	bin_user=$work/bin
	chmod 755 "$work"
	chown nobody "$mnt"
fi
start_receiver
sender_config
chmod 644 "$work/slave.ini"
for how in fusermount3 TERM; do
	$as_user "${bin_user:-$bin}/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>>"$work/mount.err" &
	mount_pid=$!
	until_true 20 mount_up || fail "the mount does not come"
	! gone $mount_pid || fail "k2hftfuse ended"
	$as_user timeout 20 sh -c "echo $how >'$sent/$how'" || fail write
	if [ $how = TERM ]; then
		kill $mount_pid
	else
		$as_user timeout 20 fusermount3 -u "$mnt" || fail fusermount3
	fi
	wait_mount || fail "$how: status $?"
	! mounted || fail "$how: still mounted"
	[ "$(cat "$received/senddir/$how")" = $how ] || fail "$how: not arrived"
done
