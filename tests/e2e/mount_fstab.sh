#!/bin/sh
# SPDX-License-Identifier: MIT
# mount -t fuse.k2hftfuse, as fstab(5) has it, and K2HFTFUSE's own form of an fstab line, with its options.
# mount(8) looks for k2hftfuse in the system's folders: here they are ones of this test's own mount namespace.
if [ -z "${IN_NAMESPACE:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "SKIP: mount(8) is for root"; exit 77; }
	[ -x /sbin/mount.fuse3 ] || [ -x /usr/sbin/mount.fuse3 ] || { echo "SKIP: no mount.fuse3"; exit 77; }
	unshare -m true || { echo "SKIP: no mount namespaces"; exit 77; }
	IN_NAMESPACE=yes exec tests/tools/own_mounts.sh "$0"
fi
mount --bind "${B:-build}/bin" /usr/local/bin && mount --bind "${B:-build}/lib" /usr/local/lib || exit 1
. tests/tools/mount.sh
start_receiver
sender_config
options="conf=$work/slave.ini,allow_other,nodev,nosuid,noexec,_netdev,dbglevel=err,noauto,x-systemd.automount,nofail"
# Options that a line for libfuse 2 had.
options="$options,nonempty,big_writes,direct_io,max_write=131072,max_read=131072,attr_timeout=1"
number=0
for form in "fuse.k2hftfuse k2hftfuse" "fuse k2hftfuse" "fuse k2hftfuse#logs" "fuse.k2hftfuse logs"; do
	# shellcheck disable=SC2086
	set -- $form
	quick mount -t "$1" "$2" "$mnt" -o "$options" >"$work/out" 2>&1 || fail "mount -t $form: $(cat "$work/out")"
	mounted || fail "mount -t $form: not mounted"
	line=$(grep " $mnt " /proc/self/mounts)
	case $line in
	*" fuse.k2hftfuse rw,nosuid,nodev,noexec"*allow_other*) ;;
	*) fail "mount -t $form: $line" ;;
	esac
	quick sh -c "echo $form >'$sent/$number'" || fail write
	quick mount -o remount,ro "$mnt" >"$work/out" 2>&1 && fail "a second process remounts"
	grep -q 'changed by mount -i -o remount' "$work/out" || fail "remount: $(cat "$work/out")"
	quick mount -i -o remount,ro "$mnt" || fail "mount -i -o remount"
	grep -q " $mnt fuse.k2hftfuse ro," /proc/self/mounts || fail "not remounted"
	# As the system does at its end.
	quick umount "$mnt" || fail umount
	echo "$form" >"$work/expected"
	arrives "$work/expected" "senddir/$number"
	number=$((number + 1))
done
quick mount -t fuse.k2hftfuse k2hftfuse "$mnt" -o "conf=$work/none.ini" >"$work/out" 2>&1 && fail "no configuration, and mounted"
grep -q 'none.ini: No such file' "$work/out" || fail "$(cat "$work/out")"
