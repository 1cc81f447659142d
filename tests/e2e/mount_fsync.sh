#!/bin/sh
# SPDX-License-Identifier: MIT
# fsync(2) returns when what was written before is at the receiver, and not before; a line without its end too. A signal
# ends the wait.
. tests/tools/mount.sh
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

stop_receiver
fixed_port=yes
python3 "$work/sync.py" "$sent/g" 'waits
' &
waits=$!
# Another file: the kernel keeps all writers of a file waiting while an fsync of it waits.
python3 "$work/sync.py" "$sent/h" 'killed
' &
killed=$!
sleep 1
gone $waits && fail "fsync does not wait for the receiver"
gone $killed && fail "fsync does not wait for the receiver"
quick ls "$sent" >/dev/null || fail "ls while fsync waits"
kill $killed
until_true 20 gone $killed || fail "fsync cannot be interrupted"
start_receiver
until_true 30 gone $waits || fail "fsync does not return"
stop_mount || fail "status $? of k2hftfuse"
