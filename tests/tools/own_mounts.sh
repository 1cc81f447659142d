#!/bin/sh
# SPDX-License-Identifier: MIT
# own_mounts.sh COMMAND...: runs it in a mount namespace of its own, without copies of the mounts that other tests have
# at this moment: a copy keeps the kernel's end of a mount alive after its umount, and k2hftfuse then does not end.
if [ "${OWN_MOUNTS:-}" != "$$" ]; then
	OWN_MOUNTS=$$ exec unshare -m "$0" "$@"
fi
unset OWN_MOUNTS
while read -r _ place kind _; do
	case $kind in
	fuse*) umount -l "$(printf '%b' "$place")" ;;
	esac
done </proc/self/mounts
exec "$@"
