#!/bin/sh
# SPDX-License-Identifier: MIT
# The inputs that the fuzz targets begin with, and every input that once failed, run through them without a finding.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
status=0
for source in tests/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}
	name=${name%.c}
	case $name in
		forward | otlp) [ -e "${B:-build}/lib/k2hft/$name.so" ] || continue ;; # a module that was left out
	esac
	if ! "${B:-build}/tests/fuzz/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
		echo "fuzz target $name:"
		tail -n 40 "$log"
		status=1
	fi
done
exit $status
