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

bin=$(cd "${B:-build}/bin" && pwd)
memory=${TMPDIR:-/dev/shm}
work=$(mktemp -d "$memory/k2hft-link.XXXXXX")
far=
pids=
mount=

clean()
{
	trap - EXIT
	if grep -q " $work/mnt fuse" /proc/mounts; then
		fusermount3 -u -z "$work/mnt" || umount -l "$work/mnt"
	fi
	for pid in $mount $pids $far; do
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
	echo "link: not there in time: $*" >&2
	cat "$work"/*.err >&2
	exit 1
}

unshare -n sleep infinity &
far=$!
other_namespace()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
await other_namespace
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

"${CC:-cc}" -O2 -D_GNU_SOURCE -Itools -o "$work/pipe" tests/bench/pipe.c tools/bench_pipe.c
cat "$logs"/*.log >"$work/logs"
[ "$(stat -c %s "$work/logs")" -ge 1000000 ] || { echo "link: $logs has less than 1 MB of *.log" >&2; exit 2; }
while :; do cat "$work/logs"; done 2>/dev/null | head -c "${megabytes}000000" >"$work/input"
bytes=$(stat -c %s "$work/input")

# receiver NAME ADDRESS COMMAND...: sets port
receiver()
{
	local name=$1 address=$2
	shift 2
	cat >"$work/$name.ini" <<-END
		[GLOBAL]
		PORT = 8020
		$(if [ "$name" = tls ]; then printf 'SSL = yes\nPSKFILE = %s\n' "$work/key"; fi)
		[K2HFTFUSESVR]
		TYPE = file
		FILE_BASEDIR = $work/received.$name
	END
	"$@" "$bin/k2hftfusesvr" -conf "$work/$name.ini" --listen "$address:0" 2>"$work/$name.err" &
	pids+=" $!"
	await grep -q 'listening on' "$work/$name.err"
	port=$(sed -n "s/.*listening on $address:\([0-9]*\)\$/\1/p" "$work/$name.err")
}
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d '[:space:]' >"$work/key")
receiver link 198.18.0.2 nsenter -t "$far" -n
link_port=$port
receiver tls 198.18.0.2 nsenter -t "$far" -n
tls_port=$port
receiver loopback 127.0.0.1
loopback_port=$port

cat >"$work/slave.ini" <<END
[GLOBAL]
PORT = $link_port
[SVRNODE]
NAME = 198.18.0.2
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

# push_timed RECEIVER ADDRESS:PORT FILE OPTION...: prints seconds
push_timed()
{
	local name=$1 to=$2 file=$3
	shift 3
	"$work/pipe" timed "$work/received.$name/$file" "$bytes" \
		"$bin/k2hft" push -q -r "$to" -t "$file" "$@" "$work/input"
}

# measure WAY RUN: prints seconds
measure()
{
	case $1 in
	mount) "$work/pipe" timed "$work/received.link/mount/$2" "$bytes" \
		sh -c "cat '$work/input' >'$work/mnt/mount/$2'" ;;
	push) push_timed link "198.18.0.2:$link_port" "push/$2" ;;
	plain) push_timed link "198.18.0.2:$link_port" "plain/$2" --compress never ;;
	tls) push_timed tls "198.18.0.2:$tls_port" "tls/$2" --psk "$work/key" ;;
	loopback) push_timed loopback "127.0.0.1:$loopback_port" "loopback/$2" ;;
	esac
	set -- "$work"/received.*/"$1/$2"
	cmp -s "$work/input" "$1" || { echo "link: $1 differs" >&2; exit 1; }
	rm "$1"
}

sent_bytes()
{
	awk -v device="$1:" '$1 == device { print $10 }' /proc/net/dev
}

for ((run = 0; run <= runs; run++)); do
	for way in plain push mount tls loopback; do
		device=near
		[ $way != loopback ] || device=lo
		before=$(sent_bytes $device)
		seconds=$(measure $way $run)
		if ((run > 0)); then
			echo "$seconds" >>"$work/$way.seconds"
			echo "$(($(sent_bytes $device) - before))" >>"$work/$way.wire"
		fi
	done
done

median()
{
	sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.6f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
printf '%s bytes of logs, link of %s bit/s each way, median of %s runs after one to warm up\n' "$bytes" $rate_bits "$runs"
printf '%-9s %9s %9s %17s %17s\n' way seconds MB/s 'of the line rate' 'sent of payload'
for way in plain push mount tls loopback; do
	printf '%s %s %s\n' "$(median "$work/$way.seconds")" "$bytes" "$(median "$work/$way.wire")" |
		awk -v way=$way -v bits=$rate_bits '{ printf "%-9s %9.3f %9.0f %17s %17.2f\n", way, $1, $2 / 1e6 / $1,
			way == "loopback" ? "-" : sprintf("%.2f", $2 * 8 / $1 / bits), $3 / $2 }'
done
