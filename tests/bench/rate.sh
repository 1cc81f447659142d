#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures, in one run, how fast a file of 10-byte records goes through a plain TCP pipe, through the mount and through
# `k2hft push`, without and with TLS, until the last byte is in the receiver's file. Prints medians and their ratio to the pipe's.
#
#     make && tests/bench/rate.sh [MEGABYTES [RUNS]]
set -eu

megabytes=${1:-250}
runs=${2:-5}
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/bench.inc
. tests/bench/bench.inc

# The records are all different, so that none of the ways can gain by their sameness.
seq -f '%09.0f' 1 "$((megabytes * 100000))" >"$work/input"
bytes=$(stat -c %s "$work/input")

global_settings=$(tls_settings)
receiver tls 127.0.0.1
tls_port=$port
global_settings=
receiver received 127.0.0.1
start_mount

measure()
{
	local to=$work/received/$1/$2
	case $1 in
	pipe)
		to=$work/copy
		"$work/pipe" copy "$work/input" "$to"
		;;
	mount) "$work/pipe" timed "$to" "$bytes" sh -c "cat '$work/input' >'$mnt/mount/$2'" ;;
	push) "$work/pipe" timed "$to" "$bytes" "$bin/k2hft" push -q -r "127.0.0.1:$port" -t "push/$2" "$work/input" ;;
	tls)
		to=$work/tls/$2
		"$work/pipe" timed "$to" "$bytes" \
			"$bin/k2hft" push -q -r "127.0.0.1:$tls_port" --psk "$work/key" -t "$2" "$work/input"
		;;
	esac
	cmp -s "$work/input" "$to" || fail "$to differs" >&2
	rm "$to"
}

runs_measure pipe mount push tls
pipe_seconds=$(median "$work/pipe.seconds")
printf '%s bytes in 10-byte records, median of %s runs after one to warm up\n' "$bytes" "$runs"
printf '%-6s %9s %9s %14s\n' way seconds MB/s 'of the pipe'
for way in pipe mount push tls; do
	printf '%s %s %s\n' "$(median "$work/$way.seconds")" "$bytes" "$pipe_seconds" |
		awk -v way=$way '{ printf "%-6s %9.3f %9.0f %14.2f\n", way, $1, $2 / 1e6 / $1, $3 / $1 }'
done
