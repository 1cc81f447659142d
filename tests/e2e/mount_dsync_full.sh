#!/bin/sh
# SPDX-License-Identifier: MIT
# A write(2) with O_DSYNC that a signal, or the end of the mount, interrupts while it waits for room is not told that its
# begin is written: that is in the ring, and nothing of it is acknowledged.
. tests/tools/mount.sh
settings='RINGSIZE = 1M
DRAINTIMEOUT = 1'
pick_port
start_mount
cat >"$work/write.py" <<'END'
import ctypes, errno, os, signal, sys
path, expected, writes = sys.argv[1:]
signal.signal(signal.SIGUSR1, lambda *_: None)
data = b"".join(b"%07d\n" % number for number in range(131072))
other = os.open(path + ".other", os.O_WRONLY | os.O_CREAT)
assert os.write(other, data[:600000]) == 600000
file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
# Not os.write, which tries again.
libc = ctypes.CDLL(None, use_errno=True)
libc.write.restype = ctypes.c_ssize_t
open(writes, "w").close()
written = libc.write(file, data, ctypes.c_size_t(len(data)))
if (written, ctypes.get_errno()) != (-1, getattr(errno, expected)):
    sys.exit(f"{written} bytes, {errno.errorcode.get(ctypes.get_errno())}")
END
# write EXPECTED COMMAND...: the write ends so when COMMAND has run.
write() {
	rm -f "$work/writes"
	python3 "$work/write.py" "$sent/f" "$1" "$work/writes" &
	writer=$!
	shift
	# What waits from now on is that write, and not the open or the write before.
	until_true 20 test -e "$work/writes" || fail "no write"
	until_true 20 ring_full 130 || fail "the ring does not fill"
	comes_to_wait $writer
	"$@" || fail "$*"
}
interrupt() {
	kill -USR1 "$writer"
}
write EINTR interrupt
wait $writer || fail "a write that is interrupted"
stop_mount && fail "status 0 although records are lost"
[ "$(sed -n 's/.*ended; \([0-9]*\) records are not acknowledged.*/\1/p' "$work/mount.err")" -gt 75000 ] ||
	fail "nothing of it was taken"
start_mount
write ECONNABORTED kill $mount_pid
wait_mount && fail "status 0 although records are lost"
wait $writer || fail "a write that the end of the mount interrupts"
