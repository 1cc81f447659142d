#!/bin/sh
# SPDX-License-Identifier: MIT
# With any umask, files that the programs make by themselves are their owner's only: output files, state, quarantine, ring files,
# local copies, log files, and the directories on the way to them; and nothing is left in the folder for temporary files.
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
umask 0
base=$work/owned
mkdir -m 700 "$base" "$work/temporary"
received=$base/new/received
receiver_settings='FILE_UNIFY = deep/er/all.log'
settings="K2HTYPE = file
K2HFILE = $base/ring
K2HINIT = no"
rules="[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = $base/copies/here/"
mkdir -m 700 "$base/new"
TMPDIR=$work/temporary
export TMPDIR
start_receiver
start_mount
quick mkdir "$sent/sub" || fail mkdir
quick sh -c "echo one >'$sent/sub/file'" || fail write
echo one >"$work/one"
arrives "$work/one" deep/er/all.log
until_true 10 same "$work/one" "$base/copies/here/sub/file" || fail "the copy"
mode=$(stat -c %a "$base/ring")
[ "$mode" = 600 ] || fail "the ring has mode $mode"
stop_mount || fail "status $?"
stop_receiver
receiver_settings=
start_receiver
ln -s /dev/null "$received/aside"
echo one | "$bin/k2hft" push -q -r "127.0.0.1:$port" --ring "$base/push.ring" -t a/b/c || fail push
echo one | "$bin/k2hft" push -q -r "127.0.0.1:$port" -t aside || fail "push aside"
arrives "$work/one" a/b/c
stop_receiver
[ -e "$received/.k2hft/quarantine/index" ] || fail "nothing in quarantine"
rm "$received/aside"
K2HFTDBGFILE=$base/program.log "$bin/k2hftfusesvr" -conf "$work/none.ini" 2>/dev/null
[ -s "$base/program.log" ] || fail "no log file"

find "$base" ! -type d ! -perm 600 -exec ls -l {} + >"$work/wrong"
find "$base" -type d ! -perm 700 -exec ls -ld {} + >>"$work/wrong"
[ ! -s "$work/wrong" ] || fail "modes: $(cat "$work/wrong")"
for made in new/received/deep/er/all.log new/received/.k2hft/ledger new/received/.k2hft/lock push.ring; do
	[ -e "$base/$made" ] || fail "$made is not there: what is its mode?"
done
[ -z "$(find "$work/temporary" -mindepth 1)" ] || fail "left: $(find "$work/temporary" -mindepth 1)"
