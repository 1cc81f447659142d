#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes that die at named points under load: nothing lost, nothing twice. `make check-crash` goes through all points.
set -u
for built in "${B:-build}"/bin/* "${B:-build}"/lib/*; do
	if grep -rq K2HFT_CRASH "$built"; then
		echo "FAIL: $built has crash points, and is for use"
		exit 1
	fi
done
# Tests run side by side, and one of them builds.
mkdir -p build-crash
exec 8>build-crash/lock
flock 8
eval "${K2HFT_MAKE:-make} -s crash-build" || exit 1
flock -u 8
exec 8>&-
B=build-crash exec tests/faults/crash.py --seconds 30
