#!/bin/sh
# SPDX-License-Identifier: MIT
# PLUGIN of rules: what passes a rule goes through a program into OUTPUTFILE, a file, a directory of files of the same
# names, or a file of the mount; TRUNS sends the records themselves, PLUGINTRANS what the program writes. fsync(2) waits
# until the program has read, and the end of the mount until it has written.
. tests/tools/mount.sh
rules="[K2HFTFUSE_RULE]
TARGET = one.log
TRUNS = on
DEFAULTALL = ALLOW
DENY = secret
PLUGIN = /usr/bin/tr a-z A-Z
OUTPUTFILE = $work/new/dir/one.copy
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
PLUGIN = /bin/sed -u 's/^/got: /'
OUTPUTFILE = $work/copies/
[K2HFTFUSE_RULE_DIR]
TARGET = inside
DEFAULTALL = ALLOW
PLUGIN = /bin/sed -u 's/^/inside: /'
OUTPUTFILE = senddir/
[K2HFTFUSE_RULE_DIR]
TARGET = trans
TRUNS = on
DEFAULTALL = ALLOW
PLUGIN = /bin/sed -u 's/^/sent: /'
PLUGINTRANS = yes
[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW"
start_receiver
start_mount
quick sh -c "printf 'a\nsecret\nb\n' >'$mnt/one.log'; printf 'c\n' >>'$mnt/one.log'" || fail write
printf 'a\nb\nc\n' >"$work/one"
arrives "$work/one" one.log

quick mkdir -p "$mnt/many/sub" "$mnt/inside/sub" "$mnt/trans" || fail mkdir
quick sh -c "echo x >'$mnt/many/x'; echo y >'$mnt/many/sub/y'" || fail write
printf 'got: x\n' >"$work/x"
printf 'got: y\n' >"$work/y"
until_true 20 same "$work/x" "$work/copies/x" || fail "copies/x: $(cat "$work/copies/x")"
until_true 20 same "$work/y" "$work/copies/sub/y" || fail "copies/sub/y"

quick sh -c "echo z >'$mnt/inside/sub/z'; echo w >>'$mnt/inside/sub/z'" || fail write
printf 'inside: z\ninside: w\n' >"$work/z"
arrives "$work/z" senddir/sub/z

awk 'BEGIN { for (i = 1; i <= 30000; i++) print "line " i " of many" }' >"$work/in"
sed 's/^/sent: /' "$work/in" >"$work/sent"
quick cp "$work/in" "$mnt/trans/t" || fail write
arrives "$work/sent" trans/t

# What a program keeps until its end comes with the end of the mount.
quick sh -c "echo last >>'$mnt/one.log'" || fail write
stop_mount
printf 'A\nB\nC\nLAST\n' | cmp - "$work/new/dir/one.copy" || fail "one.copy: $(cat "$work/new/dir/one.copy")"
