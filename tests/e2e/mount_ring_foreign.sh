#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is no ring of the mount's own stays as it is, whoever names it as K2HFILE or puts a link there.
# A folder that other users can get to.
TMPDIR=/tmp
. tests/tools/mount.sh
pick_port

# refused TEXT [FILE]: K2HFILE, with K2HINIT = yes, is refused in these words.
refused() {
	settings="K2HTYPE = file
K2HFILE = ${2:-$work/ring}"
	sender_config
	: >"$work/mount.err"
	quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" 2>"$work/mount.err"
	status=$?
	[ $status = 1 ] || fail "status $status, not 1"
	grep -q "K2HFILE ${2:-$work/ring}: $1" "$work/mount.err" || fail "no word of: $1"
}

echo "root:secret" >"$work/shadow"
cp "$work/shadow" "$work/ring"
refused 'it is not a ring'
same "$work/ring" "$work/shadow" || fail "a file that is no ring was replaced"
rm "$work/ring"
cp "$work/shadow" "$work/before"
ln -s shadow "$work/ring"
refused 'it is a symbolic link'
[ -L "$work/ring" ] || fail "a link was replaced"
same "$work/shadow" "$work/before" || fail "a link was followed"
[ ! -e "$work/ring.k2hft-new" ] || fail "a file is left"

[ "$(id -u)" = 0 ] || skip "the rest needs root"
rm "$work/ring"
settings="K2HTYPE = file
K2HFILE = $work/ring"
start_mount
stop_mount || fail "status $?"
mkdir "$work/common"
chmod 1777 "$work/common"
mv "$work/ring" "$work/common/ring"
chown 65534 "$work/common/ring"
cksum <"$work/common/ring" >"$work/before"
refused "it is another user's" "$work/common/ring"
cksum <"$work/common/ring" | cmp - "$work/before" || fail "another user's ring was changed"
