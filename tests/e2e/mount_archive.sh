#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HTPDTOR_FILE has each record once, in the order in which they are sent, whoever is killed: the worker, the receiver, the
# whole mount. A mount of several receivers has an archive for each, and stat counts what could not be archived.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
mkdir "$work/kept"
archive=$work/kept/archive
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
RINGSIZE = 1M"
rules="$rules
[K2HTPDTOR]
K2HTPDTOR_FILE = $archive"
receiver_settings='FILE_UNIFY = all'
start_receiver
start_mount
for file in a b; do
	seq -f "$file %.0f" 400000 | (while read -r line; do echo "$line" || exit; done) >>"$sent/$file" 2>/dev/null &
	writers="${writers:-} $!"
done
start_killing 0.3
until_true 30 arrived all 500000 || fail "nothing arrives"
kill -9 "$receiver_pid"
wait "$receiver_pid" 2>/dev/null
fixed_port=yes
start_receiver
until_true 30 arrived all 1000000 || fail "the receiver does not go on"
stop_killing 1
kill -9 "$mount_pid"
wait "$mount_pid" 2>/dev/null
umount "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
# shellcheck disable=SC2086 # their pids
wait $writers
start_mount
echo last >>"$sent/c"
until_true 30 grep -qx last "$received/all" || fail "the second mount sends nothing"
cmp "$archive" "$received/all" || fail "archive and receiver differ"
[ "$(stat -c %a "$archive")" = 600 ] || fail "who may read it"
sort "$archive" | uniq -d | grep -q . && fail "a record is there twice"

# A directory that is away costs what is sent meanwhile, and says so; then it goes on.
mv "$work/kept" "$work/away"
sleep 1.1
echo lost >>"$sent/c"
until_true 30 grep -qx lost "$received/all" || fail "without its archive it does not send"
"$bin/k2hft" stat "$mnt" | grep -q 'unarchived_records *1$' || fail "$("$bin/k2hft" stat "$mnt")"
grep -q "archive $archive: No such file" "$work/mount.err" || fail "no word of it"
mv "$work/away" "$work/kept"
sleep 1.1
echo again >>"$sent/c"
until_true 30 grep -qx again "$archive" || fail "it does not go on"
stop_mount || fail "status $? of k2hftfuse"
[ "$(tail -n 2 "$archive")" = "last
again" ] || fail "the end of the archive: $(tail -n 2 "$archive")"
