#!/bin/sh
# SPDX-License-Identifier: MIT
# Beginnings of lines, by as many open files as somebody likes, take no more memory than HELDMAX: the longest go on as
# pieces, and what arrives is what was written. A rule judges by the beginning, and BYTELIMIT counts the rest no more.
. tests/tools/mount.sh
. tests/tools/values.sh
. tests/tools/kill_worker.sh

# held WRITEMODE: 60 files with 200 kB each.
held() {
	quick python3 - "$sent" "$work/expected" "$stat" "$1" <<'END' || fail "$1: writing"
import json, os, sys, time
sent, expected, stat, mode = sys.argv[1:]
os.makedirs(expected, exist_ok=True)
flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "cached" else 0)
files = [os.open(f"{sent}/{mode}{number}", flags) for number in range(60)]
held = lambda: json.load(open(stat))["mount"]["held_bytes"]
for number, file in enumerate(files):
    os.write(file, b"whole\n" + b"%d" % (number % 10) * 200000)
    if mode == "cached":
        os.fsync(file) if number % 2 else time.sleep(0.02)
    assert held() <= 1 << 20, held()
for number, file in enumerate(files):
    os.write(file, b" end\nnext\n")
    os.close(file)
    with open(f"{expected}/{mode}{number}", "wb") as copy:
        copy.write(b"whole\n" + b"%d" % (number % 10) * 200000 + b" end\nnext\n")
END
	for number in $(seq 0 59); do
		arrives "$work/expected/$1$number" "senddir/$1$number"
	done
	becomes mount.held_bytes 0
}

settings='HELDMAX = 1M'
start_receiver
start_mount
held direct
[ "$(value mount.held_pieces)" -gt 40 ] || fail "pieces: $(value mount.held_pieces)"
held cached
start_killing 0.1
quick python3 - "$sent" "$work/kills" "$work/expected" <<'END' || fail "writing while workers are killed"
import os, sys
sent, kills, expected = sys.argv[1:]
kills, seen, rounds = open(kills), 0, 0
files = [os.open(f"{sent}/killed{number}", os.O_WRONLY | os.O_CREAT) for number in range(10)]
while seen < 5:
    for number, file in enumerate(files):
        os.write(file, b"%d" % (number % 10) * 200000)
    for file in files:
        os.write(file, b"end\n")
    rounds += 1
    seen += len(kills.read())
for number, file in enumerate(files):
    os.close(file)
    with open(f"{expected}/killed{number}", "wb") as copy:
        copy.write((b"%d" % (number % 10) * 200000 + b"end\n") * rounds)
END
stop_killing 5
for number in $(seq 0 9); do
	arrives "$work/expected/killed$number" "senddir/killed$number"
done
grep -q 'HELDMAX (1048576 bytes)' "$work/mount.err" || fail "no word of it"
stop_mount || fail "status $?"

settings='HELDMAX = 64K
BYTELIMIT = 150000'
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
DENY = "secret"'
start_mount
quick python3 - "$sent" <<'END' || fail "writing"
import os, sys
for name, end in ("kept", b"secret\n"), ("secret", b"kept\n"):
    file = os.open(f"{sys.argv[1]}/judged-{name}", os.O_WRONLY | os.O_CREAT)
    os.write(file, b"%s " % name.encode() + b"x" * 100000)
    os.write(file, b"y" * 100000 + end + b"next\n")
    os.close(file)
END
python3 -c 'print("kept " + "x" * 100000 + "y" * 100000 + "secret\nnext")' >"$work/kept"
echo next >"$work/secret"
arrives "$work/kept" senddir/judged-kept
arrives "$work/secret" senddir/judged-secret
stop_mount || fail "status $?"
