#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_MODE of [K2HFTFUSE] is the mode of each OUTPUTFILE, also of one that is made again, and says that of directories;
# the umask has no say. Without it they are the owner's.
. tests/tools/mount.sh
rules="[K2HFTFUSE_RULE]
TARGET = one
DEFAULTALL = ALLOW
OUTPUTFILE = $work/a/b/one
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
OUTPUTFILE = $work/copies/"
modes_are() { # FILE DIRECTORY
	for path in a a/b copies copies/sub; do
		[ "$(stat -c %a "$work/$path")" = "$2" ] || fail "directory $path: $(stat -c %a "$work/$path")"
	done
	for path in a/b/one copies/sub/two; do
		[ "$(stat -c %a "$work/$path")" = "$1" ] || fail "file $path: $(stat -c %a "$work/$path")"
	done
}
begin() {
	start_mount
	quick sh -c "mkdir -p '$mnt/many/sub'; echo x >>'$mnt/one'; echo y >>'$mnt/many/sub/two'" || fail write
	until_true 20 [ -s "$work/copies/sub/two" ] || fail "a copy"
}
end() {
	stop_mount
	rm -r "$work/a" "$work/copies"
}
umask 027
start_receiver
begin
modes_are 600 700
end
settings='FILE_MODE = 0664'
begin
modes_are 664 755
mv "$work/a/b/one" "$work/a/b/one.1"
quick sh -c "sleep 0.1; echo z >>'$mnt/one'" || fail write
until_true 20 [ -s "$work/a/b/one" ] || fail "it is not made again"
modes_are 664 755
end
