#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# For tests of what a mount's worker leaves behind, which source this after mount.sh: start_killing SECONDS kills it with
# SIGKILL again and again, until stop_killing, which says how often.

worker_of() {
	worker=$(tr -d ' ' 2>/dev/null <"/proc/$1/task/$1/children")
	[ -n "$worker" ]
}

start_killing() {
	: >"$work/kills"
	while [ ! -e "$work/stop" ]; do
		sleep "$1"
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
