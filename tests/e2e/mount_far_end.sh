#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is cut, or written, to nearly the end of off_t would take no append any more: that is refused, and who has
# the file open goes on.
. tests/tools/mount.sh
start_receiver
start_mount
cat >"$work/far.py" <<'END'
import errno, os, sys
far = (2**63 - 1, 2**63 - 4096, 2**62 + 1)
def refused(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return
    sys.exit(f"{call.__name__}{arguments[1:]} is not refused")
for name, flags in (("cached", os.O_WRONLY | os.O_APPEND), ("direct", os.O_WRONLY)):
    descriptor = os.open(f"{sys.argv[1]}/{name}", flags | os.O_CREAT)
    os.write(descriptor, b"one\n")
    for size in far:
        refused(os.ftruncate, descriptor, size)
        refused(os.truncate, f"{sys.argv[1]}/{name}", size)
        if name == "direct" and size < 2**63 - 1:
            refused(os.pwrite, descriptor, b"lost\n", size)
    os.write(descriptor, b"two\n")
    os.ftruncate(descriptor, 2**40)
    os.write(descriptor, b"three\n")
    os.close(descriptor)
END
quick python3 "$work/far.py" "$sent" || fail "a far end"
printf 'one\ntwo\nthree\n' >"$work/expected"
arrives "$work/expected" senddir/cached
arrives "$work/expected" senddir/direct
