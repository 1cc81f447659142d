#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts a receiver and a mount on this machine, sends logs through the mount and through `k2hft push`, and compares
# what arrived. All of it is in a temporary folder, which is removed in the end.
set -eu
cd "$(dirname "$0")/.."
# shellcheck disable=SC2034
fuse_optional=yes
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
# shellcheck disable=SC2034
rules='[K2HFTFUSE_RULE_DIR]
TARGET = mount
TRUNS = on
DEFAULTALL = ALLOW'

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
	mount) cat "$work/logs/$1" >"$mnt/mount/$1" ;;
	push) "$bin/k2hft" push -q -r "127.0.0.1:$port" -t "push/$1" "$work/logs/$1" ;;
	esac || fail "$2: sending $1 failed"
	until_true 60 arrived "$received/$2/$1" "$bytes" || fail "$2: $1 does not arrive completely"
	end=$(seconds)
	cmp "$work/logs/$1" "$received/$2/$1" || fail "$2: $1 is not the same at both ends"
	if [ "$bytes" -gt 10000000 ]; then
		echo "$begin $end $bytes" | awk '{ printf "same, %4.0f MB/s", $3 / 1e6 / ($2 - $1 + 0.005) }'
	else
		echo same
	fi
}

make_logs
start_receiver
echo "receiver   127.0.0.1:$port, writes below $received"
ways=push
if ! fuse_usable; then
	echo "mount      none: there is no /dev/fuse here that may be used, so this shows k2hft push only"
else
	start_mount
	echo "mount      $mnt"
	ways='mount push'
	line="written to the mount at $(date +%T)"
	echo "$line" >>"$mnt/mount/hello.log"
	until_true 20 arrived "$received/mount/hello.log" ${#line} || fail "a line does not arrive"
	printf '\n  echo "..." >>mnt/mount/hello.log\n  received/mount/hello.log: %s\n' \
		"$(cat "$received/mount/hello.log")"
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
		cell=$(send $log "$way") || fail "${cell#FAIL: }"
		printf '  %-16s' "$cell"
	done
	echo
done
printf '\nThe last lines of received/push/ragged.log, which ends without a line end:\n'
tail -n 2 "$received/push/ragged.log" | sed 's/^/  /'
[ "$ways" = push ] || stop_mount || fail "the mount has ended with an error"
stop_receiver || :
printf '\n\nEverything arrived, byte for byte the same at both ends.\n'
