#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# For tests that source this after mount.sh and kill_worker.sh: whether a write goes through the page cache.

# While the worker stands still, an append returns and another write does not. (The kernel asks for the file's attributes
# once a second: such an attempt counts for nothing.)
cat >"$work/write.py" <<'END'
import os, select, signal, sys
path, flags, worker = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
descriptor = os.open(path, os.O_CREAT | flags, 0o600)
os.write(descriptor, b"first\n")
os.kill(worker, signal.SIGSTOP)
done, tell = os.pipe()
child = os.fork()
if child == 0:
    os.write(descriptor, b"second\n")
    os.write(tell, b"!")
    os._exit(0)
returned = select.select([done], [], [], 0.5)[0]
os.kill(worker, signal.SIGCONT)
os.waitpid(child, 0)
sys.exit(0 if returned else 3)
END
# returns PATH FLAGS: whether one of some writes returned.
returns() {
	until_true 20 worker_of "$mount_pid" || fail "no worker"
	attempts=6
	while [ $attempts -gt 0 ]; do
		attempts=$((attempts - 1))
		quick python3 "$work/write.py" "$1" "$(python3 -c "import os; print($2)")" "$worker"
		case $? in
		0) return 0 ;;
		3) ;;
		*) fail "write.py" ;;
		esac
	done
	return 1
}
