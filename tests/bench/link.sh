#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures how fast real logs go over a link of 1 Gbit/s (two network namespaces, veth, tbf each way), until the last byte
# is in the receiver's file: by `k2hft push` and through a mount, with COMPRESS=auto, by push with compression off, over TLS;
# and the same push over loopback, where compression has to stay off. Prints medians, and the payload's rate as a ratio to
# the line's.
#
#     make && tests/bench/link.sh LOGS [MEGABYTES [RUNS]]
#
# LOGS is a folder of log files. They are repeated to MEGABYTES (300): all together they have to be longer than the 64 KiB
# that LZ4 looks back. Needs root, for network namespaces and for tbf; exits with 77 where there is none.
set -eu

logs=${1:?"usage: tests/bench/link.sh LOGS [MEGABYTES [RUNS]]"}
megabytes=${2:-300}
runs=${3:-5}
rate_bits=1000000000

skip()
{
	echo "SKIP: $*"
	exit 77
}

# Everything happens in a network namespace of its own, which ends with the last process in it.
if [ -z "${K2HFT_LINK_INSIDE:-}" ]; then
	[ "$(id -u)" = 0 ] || skip 'no root here'
	unshare -n true 2>/dev/null || skip 'no network namespaces here'
	command -v tc >/dev/null || skip 'no tc here'
	command -v nsenter >/dev/null || skip 'no nsenter here'
	K2HFT_LINK_INSIDE=1 exec unshare -n "$0" "$@"
fi

TMPDIR=${TMPDIR:-/dev/shm}
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/bench.inc
. tests/bench/bench.inc

unshare -n sleep infinity &
far=$!
receivers=$far
other_namespace()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
until_true 10 other_namespace
far_run()
{
	nsenter -t "$far" -n "$@"
}

# Addresses of a range that no network routes.
ip link set lo up
far_run ip link set lo up
ip link add near type veth peer name far || skip 'no veth here'
ip link set far netns "$far"
ip addr add 198.18.0.1/30 dev near
far_run ip addr add 198.18.0.2/30 dev far
ip link set near up
far_run ip link set far up
tc qdisc add dev near root tbf rate $rate_bits burst 128kb latency 10ms || skip 'no tbf here'
far_run tc qdisc add dev far root tbf rate $rate_bits burst 128kb latency 10ms

logs_repeat "$logs" "$megabytes" >"$work/input"
bytes=$(stat -c %s "$work/input")

global_settings=$(tls_settings)
receiver tls 198.18.0.2 nsenter -t "$far" -n
tls_port=$port
# Unencrypted from another address only if that is asked for.
global_settings='
SSL = no'
receiver loopback 127.0.0.1
loopback_port=$port
receiver link 198.18.0.2 nsenter -t "$far" -n
receiver_address=198.18.0.2
start_mount

# push_timed RECEIVER ADDRESS:PORT FILE OPTION...
push_timed()
{
	local name=$1 to=$2 file=$3
	shift 3
	"$work/pipe" timed "$work/$name/$file" "$bytes" "$bin/k2hft" push -q -r "$to" -t "$file" "$@" "$work/input"
}

sent_bytes()
{
	awk -v device="$1:" '$1 == device { print $10 }' /proc/net/dev
}

measure()
{
	local device=near name=link before
	case $1 in
	tls) name=tls ;;
	loopback) name=loopback device=lo ;;
	esac
	before=$(sent_bytes $device)
	case $1 in
	mount) "$work/pipe" timed "$work/link/mount/$2" "$bytes" sh -c "cat '$work/input' >'$mnt/mount/$2'" ;;
	push) push_timed link "198.18.0.2:$port" "push/$2" ;;
	plain) push_timed link "198.18.0.2:$port" "plain/$2" --compress never ;;
	tls) push_timed tls "198.18.0.2:$tls_port" "tls/$2" --psk "$work/key" ;;
	loopback) push_timed loopback "127.0.0.1:$loopback_port" "loopback/$2" ;;
	esac
	(($2 == 0)) || echo "$(($(sent_bytes $device) - before))" >>"$work/$1.wire"
	cmp -s "$work/input" "$work/$name/$1/$2" || fail "$1/$2 differs" >&2
	rm "$work/$name/$1/$2"
}

runs_measure plain push mount tls loopback
printf '%s bytes of logs, link of %s bit/s each way, median of %s runs after one to warm up\n' "$bytes" $rate_bits "$runs"
printf '%-9s %9s %9s %17s %17s\n' way seconds MB/s 'of the line rate' 'sent of payload'
for way in plain push mount tls loopback; do
	printf '%s %s %s\n' "$(median "$work/$way.seconds")" "$bytes" "$(median "$work/$way.wire")" |
		awk -v way=$way -v bits=$rate_bits '{ printf "%-9s %9.3f %9.0f %17s %17.2f\n", way, $1, $2 / 1e6 / $1,
			way == "loopback" ? "-" : sprintf("%.2f", $2 * 8 / $1 / bits), $3 / $2 }'
done
