#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2154
# For tests of what a mount's processes leave behind, which source this after mount.sh: start_killing SECONDS kills the
# worker, or what $victim says, with SIGKILL again and again, until stop_killing, which says how often.

victim=k2hftfuse

# child_of KEEPER NAME: its pid in $child. An ordinary user's keeper has fusermount3 as a child as well, for a moment after
# the mount is there.
child_of() {
	children=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	for child in $children; do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != "$2" ] || return 0
	done
	return 1
}

# Where libfuse has mount(8) mount, the first comes only behind that.
worker_of() {
	until_true 20 child_of "$1" k2hftfuse && worker=$child
}

# another_worker PID: $worker is not that one.
another_worker() {
	worker_of "$mount_pid" && [ "$worker" != "$1" ]
}

# has_heard PID: it has taken every signal that was sent to it, and done what that asks for.
has_heard() {
	grep -q '^State:[[:space:]]*S' "/proc/$1/status" && ! grep -q '^S[a-z]*Pnd:.*[1-9a-f]' "/proc/$1/status"
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
		child_of "$mount_pid" "$victim" && kill -9 "$child" 2>/dev/null && echo >>"$work/kills"
	done &
	killer_pid=$!
}

stop_killing() {
	rm "$work/killing"
	wait "$killer_pid"
	kills=$(wc -l <"$work/kills")
	[ "$kills" -ge "$1" ] || fail "$victim was killed $kills times only"
}
