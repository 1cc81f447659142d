#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 900
# Some hundred thousand states of the ring's schedules, and whether the explorer finds what is wrong on purpose.
# `make check-model` is the long run.
set -u
explore=${B:-build}/tests/model/explore
if [ ! -x "$explore" ]; then
	echo "SKIP: the explorer is for x86-64 and without sanitizers"
	exit 77
fi
"$explore" 1500 8 || exit 1
exec "$explore" 15000 32 mutations
