#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules on much data: from writes of 1 MiB, of which all, some or nothing passes, in lines that go on from one to the
# next, and from appends; what passes arrives and is copied, and what does not is counted.
. tests/tools/mount.sh
. tests/tools/values.sh
rules="[K2HFTFUSE_RULE_DIR]
TARGET = deny
TRUNS = on
DEFAULTALL = ALLOW
DENY = secret
DENY = \"^id [0-9]*7\$\"
DENY = \"pass(word|phrase)=\"
OUTPUTFILE = $work/copies/
[K2HFTFUSE_RULE_DIR]
TARGET = allow
TRUNS = on
DEFAULTALL = DENY
ALLOW = error
ALLOW = \"rate [0-9]+\$\""
start_receiver
start_mount
# Prints how many lines do not pass, of both rules.
python3 - "$work" >"$work/filtered" <<'END'
import re, sys
lines = []
for number in range(60000):
    lines.append(b"id %d\r\n" % number if number % 2 else b"rate %d\n" % number)
    lines.append((b"error ", b"plain ", b"pass", b"password=")[number // 5000 % 4] + b"x" * (number % 150) + b"\n")
lines += [b"a secret of a long line that nothing passes\n"] * 100000 + [b"\n"] * 20
lines += [b"rate 1\n"] * 400000 + [b"the last is an error"]
denied = [line for line in lines if not re.search(rb"secret|^id \d*7\r?\n|pass(word|phrase)=", line)]
allowed = [line for line in lines if re.search(rb"error|rate \d+\n", line)]
for name, some in ("in", lines), ("denied", denied), ("allowed", allowed):
    open(f"{sys.argv[1]}/{name}", "wb").write(b"".join(some))
print(2 * len(lines) - len(denied) - len(allowed))
END
for rule in deny allow; do
	quick cat "$work/in" >"$mnt/$rule/copied" || fail "cat to $rule"
	quick dd if="$work/in" of="$mnt/$rule/appended" bs=300k oflag=append conv=notrunc status=none || fail "dd to $rule"
done
for name in copied appended; do
	arrives "$work/denied" "deny/$name"
	arrives "$work/allowed" "allow/$name"
	until_true 10 same "$work/denied" "$work/copies/$name" || fail "the copy of $name"
done
becomes mount.filtered_records $((2 * $(cat "$work/filtered")))
stop_mount || fail "status $? of k2hftfuse"
