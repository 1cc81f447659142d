#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that waits in fsync(2) when the mount is told to end, and nobody acknowledges anything, is told so when DRAINTIMEOUT has
# passed; nobody waits for ever.
. tests/tools/mount.sh
settings='DRAINTIMEOUT = 1'
pick_port
start_mount
: >"$work/waits"
sync_fails() {
	exec python3 - "$sent/$1" "$2" <<'END'
import errno, os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | int(sys.argv[2]))
os.write(file, b"line\n")
open(os.environ["work"] + "/waits", "a").write("x")
try:
    os.fsync(file)
except OSError as error:
    print(errno.errorcode[error.errno])
else:
    print("none")
END
}
export work
append=$(python3 -c 'import os; print(os.O_APPEND)')
sync_fails direct 0 >"$work/direct" &
direct=$!
sync_fails cached "$append" >"$work/cached" &
cached=$!
both() { [ "$(cat "$work/waits")" = xx ]; }
until_true 20 both || fail "nobody waits"
comes_to_wait $direct $cached
kill "$mount_pid"
wait_mount && fail "status 0, and records are lost"
wait $direct $cached
[ "$(cat "$work/direct" "$work/cached")" = "ECONNABORTED
ECONNABORTED" ] || fail "fsync: $(cat "$work/direct" "$work/cached")"
