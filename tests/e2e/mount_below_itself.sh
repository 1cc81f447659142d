#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that would open a file of its configuration by way of itself is refused at the start, and by k2hft check --mount.
. tests/tools/mount.sh
pick_port
ln -s mnt "$work/link"
for path in "$mnt/file" "$work/link/deep/file"; do
	for key in K2HFILE PSKFILE; do
		settings=
		global_settings=
		case $key in
		K2HFILE) settings="K2HTYPE = file
K2HFILE = $path" ;;
		*) global_settings="
SSL = yes
PSKFILE = $path" ;;
		esac
		: >"$work/mount.err"
		sender_config
		quick "$bin/k2hft" check -m "$mnt" "$work/slave.ini" >"$work/check.err"
		[ $? = 2 ] || fail "check takes $key $path"
		grep -q "$path is below the mount point" "$work/check.err" || fail "check does not say it of $key"
		[ $key = K2HFILE ] || {
			# A key has to be there.
			rm -rf "$mnt/deep" "$mnt/file"
			mkdir "$mnt/deep"
			(umask 077 && echo 0123456789abcdef0123456789abcdef | tee "$path" >"$work/key")
		}
		quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/mount.err"
		status=$?
		[ $status = 2 ] || fail "status $status with $key $path"
		grep -q "$path is below the mount point" "$work/mount.err" || fail "no word of $key"
	done
done
rm -rf "$mnt/deep" "$mnt/file"
global_settings=
settings="K2HTYPE = file
K2HFILE = $work/mnt-ring"
sender_config
quick "$bin/k2hft" check -q -m "$mnt" "$work/slave.ini" || fail "a file beside the mount point is refused"
