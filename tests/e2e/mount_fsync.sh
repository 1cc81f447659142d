#!/bin/sh
# SPDX-License-Identifier: MIT
# fsync(2) returns when what was written before is at the receiver, and not before; a line without its end too. A signal
# ends the wait. So does a write(2) with O_DSYNC or RWF_DSYNC, through the page cache and past it.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/values.sh
start_receiver
start_mount
cat >"$work/sync.py" <<'END'
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(descriptor, sys.argv[2].encode())
if len(sys.argv) > 3:
    os.fdatasync(descriptor)
else:
    os.fsync(descriptor)
arrived = open(sys.argv[1].replace("/mnt/", "/received/"), "rb").read() if "/mnt/" in sys.argv[1] else b""
if not arrived.endswith(sys.argv[2].encode()):
    sys.exit(f"after fsync there is {arrived!r}")
os.write(descriptor, b"!\n")
END
for number in 1 2 3 4 5 6 7 8 9 10; do
	quick python3 "$work/sync.py" "$sent/f" "line $number
" || fail fsync
	quick python3 "$work/sync.py" "$sent/f" "half $number" data || fail "fdatasync of half a line"
done
for number in 1 2 3 4 5 6 7 8 9 10; do printf 'line %s\n!\nhalf %s!\n' $number $number; done >"$work/expected"
arrives "$work/expected" senddir/f

# By another descriptor of the same file, one that only reads, under another name: as sync(1) does it.
quick python3 - "$sent/old" "$sent/new" "$received/senddir/old" <<'END' || fail "fsync by another descriptor"
import os, sys
writer = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(writer, b"half")
os.rename(sys.argv[1], sys.argv[2])
os.fsync(os.open(sys.argv[2], os.O_RDONLY))
arrived = open(sys.argv[3], "rb").read()
if arrived != b"half":
    sys.exit(f"after fsync there is {arrived!r}")
END

cat >"$work/synchronous.py" <<'END'
import os, sys
sent, received = sys.argv[1:]
for name, flags, each in (("direct", os.O_DSYNC, 0), ("cached", os.O_DSYNC | os.O_APPEND, 0), ("direct one", 0, os.RWF_DSYNC),
                          ("cached one", os.O_APPEND, os.RWF_DSYNC)):
    descriptor = os.open(f"{sent}/{name}", os.O_WRONLY | os.O_CREAT | flags)
    written = b""
    for part in (b"line\n", b"half ", b"a line\n", b"no end", b"." * (3 << 20) + b"\n", b"last"):
        assert os.pwritev(descriptor, [part], len(written), each) == len(part)
        written += part
        if open(f"{received}/{name}", "rb").read() != written:
            sys.exit(f"{name}: {part[:10]!r} is not there")
END
quick python3 "$work/synchronous.py" "$sent" "$received/senddir" || fail "a synchronous write"

# Data that another descriptor has appended just before stands in front of it, though the kernel has not written that back.
quick python3 - "$sent/before" "$received/senddir/before" <<'END' || fail "a synchronous write behind an append"
import os, sys
append, synchronous = (os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND | flag) for flag in (0, os.O_DSYNC))
written = b""
for number in range(20):
    for descriptor, line in (append, b"a" * 8191 + b"\n"), (synchronous, b"s" * 4095 + b"\n"):
        assert os.write(descriptor, line) == len(line)
        written += line
    if open(sys.argv[2], "rb").read() != written:
        sys.exit(f"after write {number} it is not there, or not in its order")
END

becomes ring.unacked_records 0
stop_receiver
fixed_port=yes
python3 "$work/sync.py" "$sent/g" 'waits
' &
waits=$!
cat >"$work/write.py" <<'END'
import os, sys
assert os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DSYNC), b"once\n") == 5
END
python3 "$work/write.py" "$sent/written" &
writes=$!
python3 "$work/write.py" "$sent/interrupted" &
interrupted=$!
# Another file: the kernel keeps all writers of a file waiting while an fsync of it waits.
python3 "$work/sync.py" "$sent/h" 'killed
' &
killed=$!
comes_to_wait $waits $writes $interrupted $killed
becomes ring.unacked_records 4
gone $waits && fail "fsync does not wait for the receiver"
gone $killed && fail "fsync does not wait for the receiver"
gone $writes && fail "a synchronous write does not wait for the receiver"
quick ls "$sent" >/dev/null || fail "ls while fsync waits"
kill $killed $interrupted
until_true 20 gone $killed || fail "fsync cannot be interrupted"
until_true 20 gone $interrupted || fail "a synchronous write cannot be interrupted"
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
start_receiver
until_true 30 gone $waits || fail "fsync does not return"
until_true 30 gone $writes || fail "a synchronous write does not return"
wait $writes || fail "a synchronous write failed"
printf 'once\n' >"$work/expected"
arrives "$work/expected" senddir/written
arrives "$work/expected" senddir/interrupted
stop_mount || fail "status $? of k2hftfuse"
