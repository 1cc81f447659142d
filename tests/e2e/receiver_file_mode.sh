#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_MODE is what output files are made with, whatever the umask, also after a rotation and a change of their name; who
# may read them can come to them. What is there keeps its mode; what is the receiver's own stays the receiver's.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
umask 077

# modes MODE FILE... below FILE_BASEDIR
modes() {
	mode=$1
	shift
	for file; do
		[ "$(stat -c %a "$dir/out/$file")" = "$mode" ] || fail "$file: $(stat -c %a "$dir/out/$file"), not $mode"
	done
}
record() { sends "ring$1 1 0" "$2" "$1"; }

# Without it they are the owner's, and a umask that leaves others everything changes nothing.
umask 0
receiver_config
receiver_start
record 1 app/old
receiver_stop TERM
modes 600 app/old
modes 700 . app .k2hft
umask 077

# Missing directories, FILE_BASEDIR with those above it among them; a file that is there.
mkdir "$dir/former"
mv "$dir/out" "$dir/former"
receiver_config 'FILE_MODE = 0640'
sed -i "s|^FILE_BASEDIR = .*|FILE_BASEDIR = $dir/out/deep/base|" "$dir/conf"
receiver_start
record 2 app/a/log
modes 640 deep/base/app/a/log
modes 750 . deep deep/base deep/base/app deep/base/app/a
modes 700 deep/base/.k2hft
receiver_stop TERM
rm -rf "$dir/out"
mv "$dir/former/out" "$dir"
receiver_config 'FILE_MODE = 0640'
receiver_start
record 3 app/old
record 4 app/new
record 5 new/new
modes 600 app/old
modes 700 app .
modes 640 app/new new/new
modes 750 new

# Renamed, removed, and opened anew upon SIGHUP, which reads FILE_MODE again.
sed -i 's/^FILE_MODE = .*/FILE_MODE = 0664/' "$dir/conf"
mv "$dir/out/app/old" "$dir/out/app/old.1"
rm -r "$dir/out/new"
record 6 app/old
record 7 new/new
modes 600 app/old.1
modes 640 app/old new/new
modes 750 new
kill -HUP "$pid"
wait_until logged "receiver: reloaded"
mv "$dir/out/app/new" "$dir/out/app/new.1"
record 8 app/new
modes 664 app/new

# Records that can't be stored are for the receiver only, as is its ledger.
ln -s /tmp "$dir/out/link"
record 9 link/x
for file in ledger lock quarantine/index $(cd "$dir/out/.k2hft" && find quarantine -type f); do
	[ ! -e "$dir/out/.k2hft/$file" ] || modes 600 ".k2hft/$file"
done
[ "$(find "$dir/out/.k2hft/quarantine" -type f | wc -l)" -ge 2 ] || fail "nothing is in the quarantine"
modes 700 .k2hft .k2hft/quarantine
receiver_stop TERM

# All in one file, by a name that has not been there; nobody but the owner changes what is in a directory.
receiver_config 'FILE_MODE = 664' 'FILE_UNIFY = by/%Y/all'
receiver_start
unify=by/$(date +%Y)/all
modes 664 "$unify"
modes 755 by "${unify%/all}"
mv "$dir/out/$unify" "$dir/out/moved"
record 10 x
modes 664 "$unify"
receiver_stop TERM
[ "$(cat "$dir/out/$unify")" = 10 ] || fail "the record"

# Where a directory has a default ACL, here rwx for user 4000000 and nothing for others, FILE_MODE says how much of it holds;
# it gives others nothing that the ACL does not.
acl() {
	python3 - "$@" <<'END'
import os, struct, sys

NAMES = {1: "owner", 2: "user", 4: "group", 16: "mask", 32: "other"}
name, path = sys.argv[1:]
if name == "default":
    entries = (1, 7, 0xffffffff), (2, 7, 4000000), (4, 5, 0xffffffff), (16, 7, 0xffffffff), (32, 0, 0xffffffff)
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_default", value)
else:
    value = os.getxattr(path, "system.posix_acl_access")[4:]
    print(*(f"{NAMES[tag]}:{permissions}" for tag, permissions, _ in struct.iter_unpack("<HHI", value)))
END
}
mkdir -m 755 "$dir/out/acl"
acl default "$dir/out/acl" 2>/dev/null || exit 0
for mode in 0600 0644; do
	receiver_config "FILE_MODE = $mode"
	receiver_start
	record "1$mode" "acl/$mode/log"
	receiver_stop TERM
done
got=$(for file in 0600 0600/log 0644 0644/log; do acl show "$dir/out/acl/$file"; done)
[ "$got" = 'owner:7 user:7 group:5 mask:0 other:0
owner:6 user:7 group:5 mask:0 other:0
owner:7 user:7 group:5 mask:5 other:0
owner:6 user:7 group:5 mask:4 other:0' ] || fail "ACLs: $got"
