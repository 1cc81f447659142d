#!/bin/sh
# SPDX-License-Identifier: MIT
# Where standard error is systemd's journal, all processes of the programs begin each line with its level.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh

# in_journal FILE COMMAND...: FILE, to which the command's messages go, is the journal.
in_journal() {
	: >>"$1"
	JOURNAL_STREAM=$(stat -c %d:%i "$1")
	export JOURNAL_STREAM
	shift
	"$@"
	unset JOURNAL_STREAM
}

said() {
	grep -q "$2" "$work/$1.err"
}

# all_levelled FILE
all_levelled() {
	! grep -v '^<[3467]>k2hft' "$work/$1.err" || fail "$1: no level"
}

in_journal "$work/receiver.err" start_receiver
in_journal "$work/mount.err" start_mount
until_true 20 said mount '^<6>k2hftfuse: mount: ' || fail "the worker says nothing"
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
until_true 20 said mount '^<[34]>k2hftfuse: .*worker' || fail "the keeper says nothing"
quick sh -c "echo line >'$sent/f'" || fail "write"
echo line >"$work/expected"
arrives "$work/expected" senddir/f
echo 'PORT = none' >>"$work/server.ini"
kill -HUP "$receiver_pid"
until_true 20 said receiver '^<3>k2hftfusesvr: .*server.ini' || fail "the receiver says nothing"
stop_mount || fail "status $? of k2hftfuse"
all_levelled mount
all_levelled receiver

# A log file that can't be opened is an error, too.
ends_at_once() {
	# shellcheck disable=SC2086
	quick "$bin/"$command 2>>"$work/failed.err"
}
export K2HFTDBGFILE=/nonexistent/log
for command in "k2hftfuse $mnt -f -o conf=$work/slave.ini" "k2hftfusesvr -conf $work/server.ini"; do
	: >"$work/failed.err"
	in_journal "$work/failed.err" ends_at_once
	said failed "^<3>${command%% *}: can't write to /nonexistent/log: No such" || fail "of the log file: $command"
done
