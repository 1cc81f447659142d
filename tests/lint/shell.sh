#!/bin/sh
# SPDX-License-Identifier: MIT
# Shell scripts are clean for shellcheck, and all tests can be executed.
set -u
status=0
for script in tests/*/*.sh tests/*/*.py tests/*.sh tests/run; do
	if [ -e "$script" ] && ! [ -x "$script" ]; then
		echo "$script: not executable"
		status=1
	fi
done
command -v shellcheck >/dev/null || {
	[ $status = 0 ] || exit $status
	echo "SKIP: no shellcheck"
	exit 77
}
# Each script is judged together with what it sources, which takes most of the time: all processors share it.
{
	printf '%s\0' .ci/run pkgconfig/install-deps
	find tests fuse receiver tools examples man -name "*.sh" -print0 2>/dev/null
} | xargs -0 -n 16 -P "$(nproc)" shellcheck -x || status=1
exit $status
