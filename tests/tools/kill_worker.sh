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

# A worker with the thread sanitizer needs longer until it serves, and somebody must be served.
start_killing() {
	pause=$1
	grep -q __tsan_init "$bin/k2hftfuse" && pause=1
	: >"$work/kills"
	while [ ! -e "$work/stop" ]; do
		sleep "$pause"
		worker_of "$mount_pid" && kill -9 "$worker" 2>/dev/null && echo >>"$work/kills"
	done &
	killer_pid=$!
}

stop_killing() {
	: >"$work/stop"
	wait "$killer_pid"
	rm "$work/stop"
	kills=$(wc -l <"$work/kills")
	[ "$kills" -ge "$1" ] || fail "the worker was killed $kills times only"
}
