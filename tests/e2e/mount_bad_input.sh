#!/bin/sh
# SPDX-License-Identifier: MIT
# A start that can't work is refused with a message that names it, and a status: 2 for the command line and the configuration,
# 1 for the rest.
. tests/tools/mount.sh
pick_port
refused() {
	wanted=$1 word=$2
	shift 2
	quick "$bin/k2hftfuse" "$@" >"$work/out" 2>&1
	got=$?
	! mounted || fail "$*: mounted"
	[ $got = "$wanted" ] && grep -q -- "$word" "$work/out" && return
	fail "$*: status $got, wanted $wanted and: $word; got: $(cat "$work/out")"
}
conf=$work/slave.ini
sender_config
refused 2 'where to mount'
refused 2 'no configuration: -o conf=FILE' "$mnt" -f
refused 2 'unknown option -q' "$mnt" -q
refused 2 'one mount point' a b c
refused 2 'dbglevel=loud' "$mnt" -o "conf=$conf,dbglevel=loud"
refused 2 'allow_other, allow_root: they exclude each other' "$mnt" -o "conf=$conf,allow_root,allow_other"
for option in umask=1000 umask=0229 umask=0o77 umask=-1 umask= uid=root uid=5x uid=-1 uid=4294967295 gid=99999999999999999999; do
	refused 2 "$option: it is an* .*number of at most" "$mnt" -f -o "conf=$conf,$option"
done
refused 2 'none.ini: No such file' "$mnt" -o "conf=$work/none.ini"
refused 2 'nothing to run' "$mnt" -o 'json={}'
refused 2 'conf, json: they exclude each other' "$mnt" -o "conf=$conf,json={}"
for form in -f ''; do
	# shellcheck disable=SC2086
	refused 2 "unknown option.*no_such_option" "$mnt" $form -o "conf=$conf,no_such_option"
	# shellcheck disable=SC2086
	refused 1 "$work/none: No such file" "$work/none" $form -o "conf=$conf"
	# shellcheck disable=SC2086
	refused 1 "slave.ini: Not a directory" "$conf" $form -o "conf=$conf"
done
config_refused() {
	sender_config
	refused 2 "slave.ini:$1" "$mnt" -f -o "conf=$conf"
}
export K2HFTDBGMODE=loud
refused 2 'dbglevel=loud' "$mnt" -o "conf=$conf"
K2HFTDBGMODE=
refused 2 'none.ini: No such file' "$mnt" -o "conf=$work/none.ini"
unset K2HFTDBGMODE
good=$rules
settings='RINGSIZ = 1M'
config_refused '6: .*RINGSIZ.*RINGSIZE'
settings='RINGSIZE = 5'
config_refused '6: .*RINGSIZE'
settings=
rules="$good
DENY = \"(\""
config_refused '11: .*DENY'
settings='BINTRANS = yes'
rules="$good
DENY = x"
config_refused '11: .*BINTRANS'
rules='[K2HFTFUSE_RULE_DIR]
TARGET = a
TRUNS = yes'
config_refused '7: .*BINTRANS'
settings=
output_refused() {
	rules="[K2HFTFUSE_RULE]
TARGET = a
OUTPUTFILE = $1"
	config_refused "[67]: OUTPUTFILE $1: $2"
}
output_refused nowhere 'no rule covers that file'
output_refused a 'records would go round'
output_refused ../a 'no path below the mount'
rules=
sender_config
refused 2 'no K2HFTFUSE_RULE' "$mnt" -f -o "conf=$conf"
rules=$good
printf '[GLOBAL]\nPORT = 1\n[SVRNODE]\nNAME = a\n[K2HFTFUSESVR]\nFILE_BASEDIR = /tmp\n' >"$conf"
refused 2 'no section K2HFTFUSE' "$mnt" -f -o "conf=$conf"
printf '[GLOBAL]\nPORT = 1\n[K2HFTFUSESVR]\nFILE_BASEDIR = /tmp\n' >"$conf"
refused 2 "no section K2HFTFUSE, .*receiver's file" "$mnt" -f -o "conf=$conf"
printf '[K2HFTFUSE]\n[K2HFTFUSE_RULE_DIR]\nTARGET = a\nDEFAULTALL = ALLOW\n' >"$conf"
refused 2 'needs an .SVRNODE. with NAME' "$mnt" -f -o "conf=$conf"

# Where there is no /proc, as in a bare chroot.
sender_config
if unshare -m umount -l /proc 2>/dev/null; then
	# shellcheck disable=SC2016 # of the inner shell
	LD_LIBRARY_PATH=$bin/../lib quick unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$bin/k2hftfuse" "$mnt" -f -o "conf=$conf" >"$work/out" 2>&1 &&
		fail "a mount without /proc"
	grep -q '/proc, which a mount needs: No such file' "$work/out" || fail "$(cat "$work/out")"
fi

# The ring's file: no room, not a ring, in use.
settings="K2HTYPE = file
K2HFILE = $work/no/such/ring"
sender_config
refused 1 "slave.ini:7: K2HFILE $work/no/such/ring: No such file.*; make its directory" "$mnt" -f -o "conf=$conf"
settings="K2HTYPE = file
K2HINIT = no
K2HFILE = $work/text"
head -c 100000 /dev/urandom >"$work/text"
sender_config
refused 1 "$work/text: " "$mnt" -f -o "conf=$conf"
settings="K2HTYPE = file
K2HFILE = $work/ring"
start_mount
mkdir "$work/other"
quick "$bin/k2hftfuse" "$work/other" -f -o "conf=$conf" >"$work/out" 2>&1 && fail "two mounts with one ring file"
grep -q "slave.ini:7: K2HFILE $work/ring: another process.*; end it" "$work/out" || fail "$(cat "$work/out")"
# The mount point: in use, and dead.
quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$conf" >"$work/out" 2>&1 && fail "two mounts on one directory"
grep -q "$mnt: something is mounted there already" "$work/out" || fail "$(cat "$work/out")"
kill -9 $mount_pid
wait $mount_pid 2>/dev/null
mount_pid=
dead() {
	! quick stat -f "$mnt" >/dev/null 2>&1
}
until_true 20 dead || fail "the mount outlives its server"
unprivileged=
[ "$(id -u)" != 0 ] || unprivileged='setpriv --bounding-set=-sys_admin'
# shellcheck disable=SC2086
quick $unprivileged "$bin/k2hftfuse" "$mnt" -f -o "conf=$conf" >"$work/out" 2>&1 && fail "a mount over a dead one"
grep -q "$mnt: a mount whose processes ended" "$work/out" || fail "$(cat "$work/out")"
umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
quick "$bin/k2hftfuse" -h | grep -q 'conf=FILE' || fail "no help"
quick "$bin/k2hftfuse" -V | grep -q '^k2hftfuse [0-9]' || fail "no version"
