#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# For tests of what a mount's worker leaves behind, which source this after mount.sh: start_killing SECONDS kills it with
# SIGKILL again and again, until stop_killing, which says how often.

# An ordinary user's keeper has fusermount3 as a child as well, for a moment after the mount is there.
worker_of() {
	children=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	for worker in $children; do
		[ "$(cat "/proc/$worker/comm" 2>/dev/null)" != k2hftfuse ] || return 0
	done
	return 1
}

served() {
	yes "$mnt" | head -n 100 | tr '\n' '\0' | quick xargs -0 stat -f >"$work/served"
}

# A worker with the thread sanitizer needs longer until it serves, and somebody must be served: it answers some requests
# then, before its time begins.
start_killing() {
	pause=$1
	first=:
	grep -q __tsan_init "$bin/k2hftfuse" && first=served
	: >"$work/kills"
	: >"$work/killing" # goes with $work, too
	while [ -e "$work/killing" ]; do
		$first
		sleep "$pause"
		worker_of "$mount_pid" && kill -9 "$worker" 2>/dev/null && echo >>"$work/kills"
	done &
	killer_pid=$!
}

stop_killing() {
	rm "$work/killing"
	wait "$killer_pid"
	kills=$(wc -l <"$work/kills")
	[ "$kills" -ge "$1" ] || fail "the worker was killed $kills times only"
}
