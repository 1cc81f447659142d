#!/bin/sh
# SPDX-License-Identifier: MIT
# Keeper, worker and sweeper are killed with SIGKILL, in any order, while the sweeper waits for a worker that stands still:
# none of them is left, and the mount can be detached. The same with SIGTERM for the keeper.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh

# Below the mount it has descriptors besides its standard ones and its socket. (Who follows the link waits, too.)
sweeps() {
	[ -L "/proc/$sweeper/fd/4" ]
}
all_gone() {
	gone "$keeper" && gone "$worker" && gone "$sweeper"
}

# Until the sweeper waits for the worker: the order is given while it stands still, and taken when the worker does.
let_it_wait() {
	start_mount
	keeper=$mount_pid
	until_true 20 worker_of "$keeper" || fail "no worker"
	until_true 20 sweeper_of "$keeper" || fail "no sweeper"
	kill -STOP "$sweeper"
	quick sh -c "head -c 3000000 /dev/zero | tr '\\0' '\\n' >>'$sent/f'" || fail "a write"
	kill -STOP "$worker"
	kill -CONT "$sweeper"
	until_true 20 sweeps || fail "the sweeper has nothing to do"
}

start_receiver
for order in 'keeper worker sweeper' 'keeper sweeper worker' 'worker keeper sweeper' 'worker sweeper keeper' \
	'sweeper keeper worker' 'sweeper worker keeper'; do
	let_it_wait
	for process in $order; do
		case $process in
		keeper) kill -9 "$keeper" ;;
		worker) kill -9 "$worker" 2>/dev/null ;;
		sweeper) kill -9 "$sweeper" 2>/dev/null ;;
		esac
	done
	wait "$mount_pid" 2>/dev/null
	mount_pid=
	until_true 20 all_gone || fail "left behind by $order: $(ps -o pid,stat,comm -p "$keeper,$worker,$sweeper")"
	if mounted; then umount "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt" || fail "can't be detached"; fi
done

let_it_wait
kill -TERM "$keeper"
kill -CONT "$worker"
wait_mount || fail "status $? of k2hftfuse"
until_true 20 all_gone || fail "left behind by SIGTERM"
! mounted || fail "still mounted"
