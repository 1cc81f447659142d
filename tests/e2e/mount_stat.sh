#!/bin/sh
# SPDX-License-Identifier: MIT
# MNT/.k2hft-stat says what became of the records; it is not listed, can't be written, and its counters survive the worker.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/values.sh
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
DENY = secret
[K2HFTFUSE_RULE]
TARGET = changed
TRUNS = on
ALLOW = "word", "xxxx"'
settings='LINEMAX = 64'
start_receiver
start_mount
[ "$(quick ls -A "$mnt")" = "changed
senddir" ] || fail "it is listed: $(ls -A "$mnt")"
quick rm -f "$stat" 2>/dev/null && fail "it can be removed"
quick sh -c ": >'$stat'" 2>/dev/null && fail "it can be written"
quick mv "$sent" "$stat" 2>/dev/null && fail "it can be replaced"
quick chmod 600 "$stat" 2>/dev/null && fail "its mode can be changed"
quick sync "$stat" || fail "it can't be synced"
[ "$(quick stat -c %F:%a "$stat")" = "regular empty file:444" ] || fail "$(stat -c %F:%a "$stat")"

printf 'one\nsecret\nthree\nsecret' >"$sent/log"
printf 'password\nother\n' >"$mnt/changed"
seq -s ' ' 100 >"$sent/long"
quick touch "$mnt/nowhere" 2>/dev/null && fail "a name without rule"
becomes ring.unacked_records 0
becomes mount.filtered_records 3
is mount.replaced_records 1 || fail "replaced"
is mount.unended_records 1 || fail "unended"
is mount.pieces 4 || fail "pieces: $(value mount.pieces)"
is mount.refused_names 1 || fail "refused"
is mount.open_files 0 || fail "open"
is client.state connected || fail "state"
is client.port "$port" || fail "port"
is mount_lost '[]' || fail "lost: $(value mount_lost)"
is ring_lost '[]' || fail "lost: $(value ring_lost)"
[ "$(value ring.connects)" = 1 ] || fail "connects"
[ "$(value mount_point)" = "$mnt" ] || fail "mount point"

# An open status is whole and stays as it was, whatever happens meanwhile and however it is read.
exec 5<"$stat"
echo four >>"$sent/log"
dd bs=7 <&5 2>/dev/null | python3 -c 'import json, sys; assert json.load(sys.stdin)["mount"]["filtered_records"] == 3' ||
	fail "in small pieces"
exec 5<&-

# 300 at once: all are served, or refused in words, and the mount goes on.
python3 - "$stat" <<'END' || fail "many"
import errno, json, sys
files = []
try:
    for _ in range(300):
        files.append(open(sys.argv[1], "rb", buffering=0))
except OSError as error:
    assert error.errno == errno.ENFILE, error
assert len(files) == 256, len(files)
for file in files:
    assert json.loads(file.readall())["program"] == "k2hftfuse"
END
is mount.filtered_records 3 || fail "afterwards"

is mount.worker_deaths 0 || fail "deaths"
worker_of "$mount_pid" && kill -9 "$worker"
becomes mount.worker_deaths 1
is mount.filtered_records 3 || fail "filtered after a worker's death"
is mount.pieces 4 || fail "pieces after a worker's death"
becomes ring.connects 2
printf 'secret\n' >>"$sent/log"
becomes mount.filtered_records 4

# A reader that reads it again and again while workers die gets a whole text each time.
start_killing 1
timeout -k 5 120 python3 - "$stat" "$work/kills" <<'END' || fail "while workers die"
import json, os, sys
while os.path.getsize(sys.argv[2]) < 3:
    with open(sys.argv[1], "rb", buffering=0) as file:
        assert json.loads(file.readall())["mount"]["filtered_records"] == 4
END
stop_killing 3
stop_mount || fail "status $?"
