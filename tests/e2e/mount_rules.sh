#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules: allow and deny, by text and by regular expression with replacement; an exact file wins, then the longest
# directory; the whole subtree is covered; a line that comes in pieces is judged as a whole.
. tests/tools/mount.sh
# shellcheck disable=SC2016
rules='[K2HFTFUSE_RULE_DIR]
TARGET = all
TRUNS = on
DEFAULTALL = ALLOW
[K2HFTFUSE_RULE_DIR]
TARGET = all/deny
TRUNS = on
DEFAULTALL = ALLOW
DENY = secret
DENY = "pass[a-z]+="
[K2HFTFUSE_RULE]
TARGET = all/deny/allow.log
TRUNS = on
DEFAULTALL = DENY
ALLOW = keep
ALLOW = "^([a-z]+) ([0-9]+)$", "$2=$1 (&)"
[K2HFTFUSE_RULE_DIR]
TARGET = nothing
TRUNS = on
[K2HFTFUSE_RULE_DIR]
TARGET = local
DEFAULTALL = ALLOW'
start_receiver
start_mount
printf 'a secret\nkeep this\nuser 42\npassword=1\nnothing\nlast secret' >"$work/in"
quick mkdir -p "$mnt/all/sub/dir" "$mnt/all/deny/sub" || fail mkdir
for file in all/sub/dir/x all/deny/x all/deny/sub/x all/deny/allow.log nothing/x local/x; do
	quick sh -c "cat '$work/in' >'$mnt/$file'" || fail "$file"
done
# Byte by byte: a line is judged when it is whole.
quick dd if="$work/in" of="$mnt/all/deny/slow" bs=1 status=none || fail dd
arrives "$work/in" all/sub/dir/x
printf 'keep this\nuser 42\nnothing\n' >"$work/denied"
arrives "$work/denied" all/deny/x
arrives "$work/denied" all/deny/sub/x
arrives "$work/denied" all/deny/slow
printf 'keep this\n42=user (user 42)\n' >"$work/allowed"
arrives "$work/allowed" all/deny/allow.log
stop_mount || fail "status $? of k2hftfuse"
[ ! -e "$received/nothing" ] || fail "DEFAULTALL = DENY without ALLOW lets something pass"
[ ! -e "$received/local" ] || fail "a rule without TRUNS sends"

# Records over LINEMAX, under a rule that looks at them: the verdict on the first piece holds for the rest.
settings='LINEMAX = 1000'
# shellcheck disable=SC2016
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = DENY
ALLOW = keep
ALLOW = "^change (.)", "changed $1"
[K2HFTFUSE_RULE_DIR]
TARGET = kept
TRUNS = on
ALLOW = keep'
start_mount
python3 - "$work" <<'END'
import sys
lines = [("keep " + "k" * 5000, True), ("keep " + "k" * 5500, True), ("drop " + "d" * 5000, False), ("change x" + "c" * 5000, "changed x"), ("keep", True)]
open(sys.argv[1] + "/in", "w").write("".join(line + "\n" for line, _ in lines))
open(sys.argv[1] + "/out", "w").write("".join((line if how is True else how) + "\n" for line, how in lines if how))
END
quick cp "$work/in" "$sent/long" || fail cp
quick dd if="$work/in" of="$mnt/kept/slow" bs=500 status=none || fail dd
arrives "$work/out" senddir/long
grep '^keep' "$work/in" >"$work/kept"
arrives "$work/kept" kept/slow
stop_mount || fail "status $? of k2hftfuse"
