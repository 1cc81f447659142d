#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs fuzz targets that were built into build-fuzz, one after the other: tests/fuzz/run.sh SECONDS NAME...
# Findings go on from run to run in build-fuzz/corpus/NAME; tests/fuzz/corpus/NAME is read, not written. An input
# that fails is kept as build-fuzz/failed/NAME-*. Ends at the first target that fails.
set -u
[ $# -ge 2 ] || {
	echo "usage: tests/fuzz/run.sh SECONDS NAME..." >&2
	exit 2
}
seconds=$1
shift

# Sections and keys, as a dictionary of libFuzzer.
words_of_settings()
{
	sed -n 's/^K2I_[A-Z]*(\([A-Z0-9_]*\), "\([A-Z0-9_]*\)".*/"\\x0a[\1]\\x0a"\n"\2 = "/p' lib/config/settings.def | sort -u
}

memory=${TMPDIR:-/dev/shm}
[ -w "$memory" ] || memory=/tmp
TMPDIR=$(mktemp -d "$memory/k2hft-fuzz-run.XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT TERM
for name in "$@"; do
	found=build-fuzz/corpus/$name
	log=build-fuzz/$name.log
	mkdir -p "$found" build-fuzz/failed
	set -- "$found"
	[ -d "tests/fuzz/corpus/$name" ] && set -- "$@" "tests/fuzz/corpus/$name"
	if [ "$name" = settings ]; then
		words_of_settings >"$TMPDIR/words"
		set -- "$@" "-dict=$TMPDIR/words"
	fi
	if ! ASAN_OPTIONS=quarantine_size_mb=8 UBSAN_OPTIONS=print_stacktrace=1 "build-fuzz/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
		-rss_limit_mb=512 -max_len=8192 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="build-fuzz/failed/$name-" "$@" >"$log" 2>&1; then
		tail -n 60 "$log"
		echo "fuzz $name: failed; the whole of it is in $log" >&2
		exit 1
	fi
	sed -n 's/^stat::\(number_of_executed_units\|average_exec_per_sec\|new_units_added\): */\1 /p' "$log" |
		sed "s/^/fuzz $name: /;s/_/ /g"
done
