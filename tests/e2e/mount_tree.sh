#!/bin/sh
# SPDX-License-Identifier: MIT
# The tree: files and directories of rules, mkdir, rename, unlink, rmdir, chmod, chown, times, truncate, listing, df.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW
[K2HFTFUSE_RULE]
TARGET = etc/deep/file.log
TRUNS = on
DEFAULTALL = ALLOW'
settings='RINGSIZE = 8M'
pick_port
start_mount
t() {
	quick "$@" || fail "$*"
}
refused() {
	message=$1
	shift
	quick "$@" 2>"$work/out" && fail "$* is possible"
	grep -q "$message" "$work/out" || fail "$*: $(cat "$work/out")"
}
[ "$(cd "$mnt" && t find . | sort | tr '\n' ' ')" = ". ./etc ./etc/deep ./etc/deep/file.log ./senddir " ] ||
	fail "at the start: $(find "$mnt")"

# A file without a rule can't be made, nor a directory where no rule covers it.
refused 'not permitted' touch "$mnt/file"
refused 'not permitted' touch "$mnt/etc/other"
refused 'not permitted' mkdir "$mnt/etc/other"
grep -q 'etc/other.*covers it\|file.*covers it' "$work/mount.err" || fail "no word about the missing rule"
refused 'busy' rmdir "$sent"
refused 'busy' mv "$sent" "$mnt/etc/"

t mkdir -p "$sent/a/b/c"
t sync "$sent/a"
t sh -c "printf 12345 >'$sent/a/b/c/f'"
[ "$(t stat -c '%s %h %F' "$sent/a/b/c/f")" = "5 1 regular file" ] || fail "stat: $(stat "$sent/a/b/c/f")"
[ "$(t stat -c '%h' "$sent/a")" = 3 ] || fail "links of a directory: $(stat "$sent/a")"
t sh -c "printf 678 >>'$sent/a/b/c/f'"
[ "$(t stat -c %s "$sent/a/b/c/f")" = 8 ] || fail "size after append"
t truncate -s 0 "$sent/a/b/c/f"
[ "$(t stat -c %s "$sent/a/b/c/f")" = 0 ] || fail "size after truncate"
t truncate -s 4611686018427387904 "$sent/a/b/c/f"
[ "$(t stat -c '%s %b' "$sent/a/b/c/f")" = "4611686018427387904 9007199254740992" ] ||
	fail "as large as can be: $(stat "$sent/a/b/c/f")"
t sh -c "printf 1 >>'$sent/a/b/c/f'; : >'$sent/a/b/c/f'"
[ "$(t stat -c %s "$sent/a/b/c/f")" = 0 ] || fail "size after O_TRUNC"
[ -z "$(t cat "$sent/a/b/c/f")" ] || fail "something is read"

t mv "$sent/a/b/c/f" "$sent/a/g"
t sh -c "printf x >'$sent/h'"
t mv "$sent/h" "$sent/a/g"
[ "$(t stat -c %s "$sent/a/g")" = 1 ] || fail "rename over a file"
refused 'not empty' rmdir "$sent/a"
refused 'Is a directory' unlink "$sent/a"
t rmdir "$sent/a/b/c" "$sent/a/b"
t rm "$sent/a/g"
t rmdir "$sent/a"
refused 'No such file' stat "$sent/a"
t rm "$mnt/etc/deep/file.log"
t sh -c "echo again >'$mnt/etc/deep/file.log'"

t touch -d '2020-02-03 04:05:06' "$sent/m"
[ "$(t stat -c %y "$sent/m" | cut -c 1-19)" = '2020-02-03 04:05:06' ] || fail "mtime: $(stat "$sent/m")"
t chmod 600 "$sent/m"
[ "$(t stat -c %a "$sent/m")" = 600 ] || fail chmod
if [ "$(id -u)" = 0 ]; then
	t chown 12:34 "$sent/m"
	[ "$(t stat -c %u:%g "$sent/m")" = 12:34 ] || fail chown
fi
# A directory that is shared with a group shares its new files.
t mkdir "$sent/shared"
[ "$(id -u)" != 0 ] || t chgrp 34 "$sent/shared"
t chmod 2770 "$sent/shared"
t mkdir "$sent/shared/directory"
t touch "$sent/shared/file" "$sent/shared/directory/file"
[ "$(t find "$sent/shared" -printf '%G\n' | uniq -c | tr -d ' ')" = "4$(t stat -c %g "$sent/shared")" ] ||
	fail "groups in a directory with the set-group-ID bit: $(ls -lR "$sent/shared")"
t [ -g "$sent/shared/directory" ] || fail "a directory in one with the set-group-ID bit: $(ls -l "$sent/shared")"
t rm -r "$sent/shared"
# A program that others may write to is not run with its owner's rights when they have: what root may keep others lose.
mode_written() {
	t chmod "$1" "$sent/m"
	if [ "$(id -u)" = 0 ]; then
		t setpriv --bounding-set=-fsetid sh -c "echo x $2'$sent/m'"
	else
		t sh -c "echo x $2'$sent/m'"
	fi
	[ "$(t stat -c %a "$sent/m")" = "$3" ] || fail "chmod $1, $2: mode $(stat -c %a "$sent/m")"
}
for how in '1<>' '>>' '>'; do
	mode_written 6755 "$how" 755
	mode_written 2745 "$how" 2745
done
t truncate -s 0 "$sent/m"
refused 'not permitted' ln -s x "$sent/link"
t ln "$sent/m" "$sent/link"
[ "$(t stat -c '%h %i' "$sent/link")" = "$(t stat -c '2 %i' "$sent/m")" ] || fail "a link: $(stat "$sent/link" "$sent/m")"
[ "$(t ls -i "$sent" | awk '{ print $1 }' | sort | uniq -c | awk '{ print $1 }')" = 2 ] || fail "a listing with a link: $(ls -i "$sent")"
t rm "$sent/m"
t mv "$sent/link" "$sent/m"
[ "$(t stat -c '%h %s' "$sent/m")" = '1 0' ] || fail "the last name of a file: $(stat "$sent/m")"
refused 'not permitted' ln "$mnt/.k2hft-stat" "$sent/link"
refused 'not permitted' mkfifo "$sent/fifo"

# open(2) finds a file whose name is taken away before the worker hears of that, as when logs are rotated.
worker_of "$mount_pid" || fail "no worker"
t touch "$sent/raced"
t stat "$sent" "$sent/raced" >"$work/out"
kill -STOP "$worker"
quick unlink "$sent/raced" &
removes=$!
sleep 0.1
quick sh -c ": >>'$sent/raced'" &
opens=$!
sleep 0.1
kill -CONT "$worker"
wait $removes || fail "unlink: status $?"
wait $opens || fail "what was removed meanwhile is not made anew"
t rm -f "$sent/raced"

t sh -c "cd '$sent' && for i in \$(seq 1000); do : >\$i.log; done"
[ "$(t ls -f "$sent" | grep -c '^[0-9]*\.log$')" = 1000 ] || fail "a listing of 1000"
t sh -c "cd '$sent' && rm -- *.log"
[ "$(t ls "$sent")" = m ] || fail "left: $(ls "$sent")"

# df: the ring, and what of it waits for an acknowledgement; nobody is there to give one.
[ "$(t stat -f -c '%b %S' "$mnt")" = '2048 4096' ] || fail "df: $(stat -f "$mnt")"
t sh -c "head -c 3000000 /dev/zero >'$sent/zero'"
free=$(t stat -f -c '%f' "$mnt")
if [ "$free" -gt 1320 ] || [ "$free" -lt 1200 ]; then
	fail "$free of 2048 blocks are free with 3 MB of 8 waiting"
fi
settings='DRAINTIMEOUT = 0'
kill -TERM $mount_pid
sleep 0.2
kill -TERM $mount_pid 2>/dev/null
wait_mount && fail "status 0 although records are lost"
grep -q 'lost with the ring' "$work/mount.err" || fail "no word about what is lost"

# Modes that the option umask leaves to a directory of a rule, and to files in it.
mount_options=,umask=0137
start_mount
t mkdir "$sent/sub"
t sh -c ": >'$sent/sub/f'"
[ "$(t stat -c %a "$sent" "$sent/sub" "$sent/sub/f" | tr '\n' ' ')" = '750 750 640 ' ] || fail "umask: $(ls -lR "$mnt")"
stop_mount || fail "status $? of k2hftfuse"
