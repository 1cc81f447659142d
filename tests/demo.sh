#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts a receiver and a mount on this machine, sends logs through the mount and through `k2hft push`, and compares
# what arrived. All of it is in a temporary folder, which is removed in the end.
set -eu

build=${B:-build}
bin=$(cd "$build/bin" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/k2hft-demo.XXXXXX")
receiver=
mount=

mounted()
{
	grep -q " $work/mnt fuse" /proc/mounts
}

clean()
{
	trap - EXIT INT TERM
	if mounted; then
		fusermount3 -u "$work/mnt" 2>/dev/null || umount "$work/mnt" 2>/dev/null ||
			fusermount3 -u -z "$work/mnt" 2>/dev/null || umount -l "$work/mnt" || :
	fi
	for pid in $mount $receiver; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	if ! mounted; then
		rm -rf "$work"
	fi
}

fail()
{
	echo "demo: $1" >&2
	for log in "$work"/*.err; do
		[ ! -s "$log" ] || sed "s|^|  ${log##*/}: |" "$log" >&2
	done
	exit 1
}

# until_true SECONDS COMMAND...
until_true()
{
	tries=$(($1 * 50))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.02
	done
}

seconds()
{
	cut -d ' ' -f 1 /proc/uptime
}

bytes_of()
{
	wc -c <"$1" | tr -d ' '
}

make_logs()
{
	mkdir "$work/logs"
	if [ -s /var/log/dpkg.log ] && [ -r /var/log/dpkg.log ]; then
		tail -n 20000 /var/log/dpkg.log >"$work/logs/dpkg.log"
	fi
	seq -f '2015-09-03 17:27:28 host-%03.0f service[4711]: something happened' 1 999 | sed "s/\$/$(printf '\r')/" \
		>"$work/logs/windows.log"
	seq -f 'line %.0f' 1 1000 >"$work/logs/ragged.log"
	printf 'the last line has no end' >>"$work/logs/ragged.log"
	seq -f 'Sep  3 17:27:28 web httpd: GET /item/%08.0f HTTP/1.1 200 5120 "-" "Mozilla/5.0"' 1 1500000 \
		>"$work/logs/large.log"
}

receiver_config()
{
	cat >"$work/server.ini" <<END
[GLOBAL]
PORT = 8020

[K2HFTFUSESVR]
TYPE = file
FILE_BASEDIR = $work/received
END
}

sender_config()
{
	cat >"$work/slave.ini" <<END
[GLOBAL]
PORT = $1

[SVRNODE]
NAME = 127.0.0.1

[K2HFTFUSE]
K2HTYPE = mem

[K2HFTFUSE_RULE_DIR]
TARGET = mount
TRUNS = on
DEFAULTALL = ALLOW
END
}

listens_or_gone()
{
	port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/receiver.err")
	[ "$port" ] || ! kill -0 "$receiver" 2>/dev/null
}

start_receiver()
{
	receiver_config
	# The configuration's port may be taken: this one takes any that is free.
	: >"$work/receiver.err"
	"$bin/k2hftfusesvr" -conf "$work/server.ini" --listen 127.0.0.1:0 2>"$work/receiver.err" &
	receiver=$!
	until_true 10 listens_or_gone || fail "the receiver does not start in time"
	[ "$port" ] || fail "the receiver does not start"
	sender_config "$port"
}

mounted_or_gone()
{
	mounted || ! kill -0 "$mount" 2>/dev/null
}

# 0: the mount is there; else says why not.
start_mount()
{
	if ! [ -e /dev/fuse ]; then
		echo "mount      none: this machine has no /dev/fuse, so this shows k2hft push only"
		return 1
	fi
	mkdir "$work/mnt"
	"$bin/k2hftfuse" "$work/mnt" -o conf="$work/slave.ini" -f 2>"$work/mount.err" &
	mount=$!
	until_true 10 mounted_or_gone || fail "the mount does not appear"
	if ! mounted; then
		if [ -r /dev/fuse ] && [ -w /dev/fuse ]; then
			fail "the mount does not start"
		fi
		echo "mount      none: /dev/fuse may not be used here, so this shows k2hft push only"
		mount=
		return 1
	fi
	echo "mount      $work/mnt"
}

arrived()
{
	[ -f "$1" ] && [ "$(bytes_of "$1")" -ge "$2" ]
}

# send NAME WAY: sends it, compares both ends, prints one cell of the table.
send()
{
	bytes=$(bytes_of "$work/logs/$1")
	begin=$(seconds)
	case $2 in
	mount) cat "$work/logs/$1" >"$work/mnt/mount/$1" ;;
	push) "$bin/k2hft" push -q -r "127.0.0.1:$port" -t "push/$1" "$work/logs/$1" ;;
	esac || fail "$2: sending $1 failed"
	until_true 60 arrived "$work/received/$2/$1" "$bytes" || fail "$2: $1 does not arrive completely"
	end=$(seconds)
	cmp "$work/logs/$1" "$work/received/$2/$1" || fail "$2: $1 is not the same at both ends"
	if [ "$bytes" -gt 10000000 ]; then
		echo "$begin $end $bytes" | awk '{ printf "same, %4.0f MB/s", $3 / 1e6 / ($2 - $1 + 0.005) }'
	else
		echo same
	fi
}

trap clean EXIT
trap 'exit 1' INT TERM
make_logs
start_receiver
echo "receiver   127.0.0.1:$port, writes below $work/received"
ways=push
if start_mount; then
	ways='mount push'
	line="written to the mount at $(date +%T)"
	echo "$line" >>"$work/mnt/mount/hello.log"
	until_true 20 arrived "$work/received/mount/hello.log" ${#line} || fail "a line does not arrive"
	printf '\n  echo "..." >>mnt/mount/hello.log\n  received/mount/hello.log: %s\n' \
		"$(cat "$work/received/mount/hello.log")"
fi

printf '\n%-14s %12s' log bytes
for way in $ways; do
	printf '  %-16s' "$way"
done
echo
for log in dpkg.log windows.log ragged.log large.log; do
	[ -f "$work/logs/$log" ] || continue
	printf '%-14s %12s' $log "$(bytes_of "$work/logs/$log")"
	for way in $ways; do
		cell=$(send $log "$way") || exit 1
		printf '  %-16s' "$cell"
	done
	echo
done
printf '\nThe last lines of received/push/ragged.log, which ends without a line end:\n'
tail -n 2 "$work/received/push/ragged.log" | sed 's/^/  /'
printf '\n\nEverything arrived, byte for byte the same at both ends.\n'
