#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures, in one run, how fast a file of 10-byte records goes through a plain TCP pipe, through the mount and through
# `k2hft push`, without and with TLS, until the last byte is in the receiver's file. Prints medians and their ratio to the pipe's.
#
#     make && tests/bench/rate.sh [MEGABYTES [RUNS]]
set -eu

megabytes=${1:-250}
runs=${2:-5}
bin=$(cd "${B:-build}/bin" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/k2hft-rate.XXXXXX")
receiver=
tls_receiver=
mount=

clean()
{
	trap - EXIT
	if grep -q " $work/mnt fuse" /proc/mounts; then
		fusermount3 -u -z "$work/mnt" || umount -l "$work/mnt"
	fi
	for pid in $mount $receiver $tls_receiver; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

await()
{
	for ((i = 0; i < 500; i++)); do
		! "$@" || return 0
		sleep 0.02
	done
	echo "rate: not there in time: $*" >&2
	cat "$work"/*.err >&2
	exit 1
}

"${CC:-cc}" -O2 -D_GNU_SOURCE -Itools -o "$work/pipe" tests/bench/pipe.c tools/bench_pipe.c
# The records are all different, so that none of the ways can gain by their sameness.
seq -f '%09.0f' 1 "$((megabytes * 100000))" >"$work/input"
bytes=$(stat -c %s "$work/input")

cat >"$work/server.ini" <<END
[GLOBAL]
PORT = 8020
[K2HFTFUSESVR]
TYPE = file
FILE_BASEDIR = $work/received
END
"$bin/k2hftfusesvr" -conf "$work/server.ini" --listen 127.0.0.1:0 2>"$work/receiver.err" &
receiver=$!
await grep -q 'listening on' "$work/receiver.err"
port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/receiver.err")
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d '[:space:]' >"$work/key")
cat >"$work/tls.ini" <<END
[GLOBAL]
PORT = 8020
SSL = yes
PSKFILE = $work/key
[K2HFTFUSESVR]
TYPE = file
FILE_BASEDIR = $work/received_tls
END
"$bin/k2hftfusesvr" -conf "$work/tls.ini" --listen 127.0.0.1:0 2>"$work/tls_receiver.err" &
tls_receiver=$!
await grep -q 'listening on' "$work/tls_receiver.err"
tls_port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/tls_receiver.err")
cat >"$work/slave.ini" <<END
[GLOBAL]
PORT = $port
[SVRNODE]
NAME = 127.0.0.1
[K2HFTFUSE]
K2HTYPE = mem
[K2HFTFUSE_RULE_DIR]
TARGET = mount
TRUNS = on
DEFAULTALL = ALLOW
END
mkdir "$work/mnt"
"$bin/k2hftfuse" "$work/mnt" -o conf="$work/slave.ini" -f 2>"$work/mount.err" &
mount=$!
await grep -q " $work/mnt fuse" /proc/mounts

# measure WAY RUN: prints seconds
measure()
{
	case $1 in
	pipe) "$work/pipe" copy "$work/input" "$work/copy" ;;
	mount) "$work/pipe" timed "$work/received/mount/$2" "$bytes" \
		sh -c "cat '$work/input' >'$work/mnt/mount/$2'" ;;
	push) "$work/pipe" timed "$work/received/push/$2" "$bytes" \
		"$bin/k2hft" push -q -r "127.0.0.1:$port" -t "push/$2" "$work/input" ;;
	tls) "$work/pipe" timed "$work/received_tls/$2" "$bytes" \
		"$bin/k2hft" push -q -r "127.0.0.1:$tls_port" --psk "$work/key" -t "$2" "$work/input" ;;
	esac
	case $1 in
	pipe) set -- "$work/copy" ;;
	tls) set -- "$work/received_tls/$2" ;;
	*) set -- "$work/received/$1/$2" ;;
	esac
	cmp -s "$work/input" "$1" || { echo "rate: $1 differs" >&2; exit 1; }
	rm "$1"
}

for ((run = 0; run <= runs; run++)); do
	for way in pipe mount push tls; do
		seconds=$(measure $way $run)
		if ((run > 0)); then
			echo "$seconds" >>"$work/$way.seconds"
		fi
	done
done

median()
{
	sort -n "$work/$1.seconds" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
pipe_seconds=$(median pipe)
printf '%s bytes in 10-byte records, median of %s runs after one to warm up\n' "$bytes" "$runs"
printf '%-6s %9s %9s %14s\n' way seconds MB/s 'of the pipe'
for way in pipe mount push tls; do
	printf '%s %s %s\n' "$(median $way)" "$bytes" "$pipe_seconds" |
		awk -v way=$way '{ printf "%-6s %9.3f %9.0f %14.2f\n", way, $1, $2 / 1e6 / $1, $3 / $1 }'
done
