#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034
# For tests of the mount, which source this: a receiver and a mount on loopback, in a folder that goes in the end.
#
#	$work       the folder            $mnt       the mount          $sent      mnt/senddir, covered by a RULE_DIR
#	$received   FILE_BASEDIR          $port      of the receiver
#
# Nothing here may wait for ever for the mount: commands on it run under `quick`.
set -u

bin=$(cd "${B:-build}/bin" && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/k2hft-mount.XXXXXX") || exit 1
work=$(cd "$work" && pwd -P)
mnt=$work/mnt
sent=$mnt/senddir
received=$work/received
logs=${K2HFT_LOGS:-../shared/logs}
mount_pid=
receiver_pid=
port=
receiver_address=127.0.0.1
rules='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW'
settings=
receiver_settings=
global_settings= # of both, each line behind a line end
mount_options= # begins with a comma
mkdir "$mnt" "$received"

fuse_usable() {
	[ -r /dev/fuse ] && [ -w /dev/fuse ]
}
if ! fuse_usable && [ -z "${fuse_optional:-}" ]; then
	rm -rf "$work"
	echo "SKIP: no right to use /dev/fuse"
	exit 77
fi

quick() {
	timeout -k 5 60 "$@"
}

mounted() {
	grep -q " $mnt fuse" /proc/self/mounts
}

# Ends what hangs: all requests of the mount fail.
abort_connection() {
	number=$(sed -n "s|^[0-9]* [0-9]* 0:\([0-9]*\) [^ ]* $mnt .*|\1|p" /proc/self/mountinfo | head -n 1)
	[ -z "$number" ] || echo 1 2>/dev/null >"/sys/fs/fuse/connections/$number/abort"
}

# That of a test that has passed ends well, too.
end_receiver() {
	if [ "$code" = 0 ]; then
		kill -CONT "$receiver_pid"
		kill "$receiver_pid"
	else
		kill -9 "$receiver_pid"
	fi 2>/dev/null
	wait "$receiver_pid" 2>/dev/null
	status=$?
	if [ "$code" = 0 ] && [ $status != 0 ]; then
		echo "FAIL: status $status of the receiver at the end"
		cat "$work/receiver.err"
		code=1
	fi
}

clean() {
	trap - EXIT INT TERM
	set +e
	if mounted; then
		abort_connection
		umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
	fi
	if [ -n "$mount_pid" ]; then
		kill -9 "$mount_pid" 2>/dev/null
		wait "$mount_pid" 2>/dev/null
	fi
	[ -z "$receiver_pid" ] || end_receiver
	mounted || rm -rf "$work"
	exit "$code"
}
trap 'code=$?; clean' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	for file in "$work"/*.err; do
		[ -s "$file" ] || continue
		echo "--- ${file##*/}"
		tail -n 30 "$file"
	done
	exit 1
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# until_true SECONDS COMMAND...
until_true() {
	tries=$(($1 * 50))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.02
	done
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# Gone, but for who is to wait for it.
ended() {
	! [ -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"
}

# comes_to_wait PID...: until each is in a call that the mount has not answered.
comes_to_wait() {
	for caller in "$@"; do
		until_true 10 waits "$caller" || echo "whether $caller waits can't be seen here"
	done
}
# Not what waits for a disk, as a program does that has just begun.
waits() {
	case $(cat "/proc/$1/wchan" 2>/dev/null) in
	fuse* | request_wait_answer) ;;
	'' | 0) grep -qs '^State:[[:space:]]*D' "/proc/$1/status" ;;
	*) false ;;
	esac
}

# ring_full BLOCKS: fewer than these are free, and no fewer than a moment ago.
ring_full() {
	free=$(quick stat -f -c %f "$mnt")
	sleep 0.2
	[ "$free" -lt "$1" ] && [ "$free" = "$(quick stat -f -c %f "$mnt")" ]
}

listens() {
	grep -q ":$(printf '%04X' "$1") 00000000:0000 0A" /proc/net/tcp
}

receiver_config() {
	cat >"$work/server.ini" <<END
[GLOBAL]
PORT = $port$global_settings
[K2HFTFUSESVR]
TYPE = file
LISTEN = 127.0.0.1
FILE_BASEDIR = $received
$receiver_settings
END
}

# It, and not another test's that took the port meanwhile.
receiver_listens() {
	listens "$port" && awk -v port=":$(printf '%04X' "$port")\$" '$2 ~ port && $4 == "0A" { print "socket:[" $10 "]" }' \
		/proc/net/tcp >"$work/listening" && readlink "/proc/$receiver_pid/fd/"* | grep -qxFf "$work/listening"
}

receiver_up() {
	gone "$receiver_pid" || receiver_listens
}

# Starts the receiver, on the port that it had before if it had one.
start_receiver() {
	for step in 1 2 3 4 5 6 7 8; do
		if [ -z "$port" ] || [ "$step" -gt 4 ]; then
			port=$((20000 + ($$ * 13 + step * 1009) % 12000))
			! listens "$port" || continue
		fi
		receiver_config
		"$bin/k2hftfusesvr" -conf "$work/server.ini" 2>>"$work/receiver.err" &
		receiver_pid=$!
		until_true 20 receiver_up || fail "the receiver does not listen"
		gone "$receiver_pid" || return 0
		[ -z "${fixed_port:-}" ] || break
	done
	fail "the receiver does not start"
}

stop_receiver() {
	kill "$receiver_pid"
	wait "$receiver_pid" || fail "status $? of the receiver"
	receiver_pid=
}

# A port that nobody listens on, for a mount that is alone.
pick_port() {
	port=$((32001 + $$ * 7 % 700))
	while listens "$port"; do
		port=$((port + 1))
	done
}

sender_config() {
	cat >"$work/slave.ini" <<END
[GLOBAL]
PORT = $port$global_settings
[SVRNODE]
NAME = $receiver_address
[K2HFTFUSE]
$settings
$rules
END
}

mount_up() {
	gone "$mount_pid" || mounted
}

# In the foreground, as a child, with $mount_options.
start_mount() {
	sender_config
	"$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini$mount_options" 2>>"$work/mount.err" &
	mount_pid=$!
	until_true 20 mount_up || fail "the mount does not come"
	! gone "$mount_pid" || fail "k2hftfuse ended"
}

# Unmounts from outside and waits for the server: its status.
stop_mount() {
	quick umount "$mnt" 2>/dev/null || quick fusermount3 -u "$mnt" || fail "cannot be unmounted"
	wait_mount
}

wait_mount() {
	until_true 60 gone "$mount_pid" || fail "k2hftfuse does not end"
	wait "$mount_pid"
	status=$?
	mount_pid=
	return $status
}

same() {
	cmp -s "$1" "$2"
}

# arrived NAME BYTES: the receiver's file has more than these.
arrived() { [ "$(stat -c %s "$received/$1" 2>/dev/null || echo 0)" -gt "$2" ]; }

# arrives EXPECTED NAME: the receiver's file NAME becomes what EXPECTED is.
arrives() {
	until_true "${3:-30}" same "$1" "$received/$2" && return
	cmp "$1" "$received/$2"
	ls -l "$1" "$received/$2"
	fail "$2 did not arrive as it was written"
}
