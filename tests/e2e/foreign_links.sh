#!/bin/sh
# SPDX-License-Identifier: MIT
# A symbolic link that another user has put where an OUTPUTFILE, a log or results go to is not followed; root's own is.
TMPDIR=/tmp
. tests/tools/mount.sh
[ "$(id -u)" = 0 ] || skip "it needs another user"
pick_port
mkdir "$work/theirs" "$work/ours"
chmod 755 "$work"
chown 65534 "$work/theirs"
for place in theirs ours; do
	: >"$work/$place.target"
	ln -s "../$place.target" "$work/$place/link"
done
chown -h 65534 "$work/theirs/link"

outputfile() {
	rules="[K2HFTFUSE_RULE_DIR]
TARGET = senddir
OUTPUTFILE = $work/$1/link
DEFAULTALL = ALLOW"
	sender_config
}

outputfile theirs
quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/mount.err"
status=$?
[ $status = 1 ] || fail "status $status"
grep -q "OUTPUTFILE $work/theirs/link: .*another user's symbolic link" "$work/mount.err" || fail "no word of it"
outputfile ours
K2HFTDBGFILE=$work/theirs/link quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/mount.err"
status=$?
[ $status = 1 ] || fail "status $status with a log"
quick "$bin/k2hft" verify --make -n 1 "$work/theirs/link" >/dev/null 2>&1 && fail "verify --make follows it"
[ ! -s "$work/theirs.target" ] || fail "it was followed"

start_mount
quick sh -c "echo one >>'$sent/f'" || fail "a write"
stop_mount
echo one | cmp - "$work/ours.target" || fail "a link of root's is not followed"
