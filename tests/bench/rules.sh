#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures, in one run, how fast real logs go through a mount without patterns, with 16 ALLOW regular expressions, and with
# 16 DENY ones, until the last byte that passes is in the receiver's file, which is compared with what grep lets pass.
# Prints medians, and their ratio to the mount's without patterns.
#
#     make && tests/bench/rules.sh LOGS [MEGABYTES [RUNS]]
#
# LOGS is a folder of log files, which are repeated to MEGABYTES (200).
set -eu

logs=${1:?"usage: tests/bench/rules.sh LOGS [MEGABYTES [RUNS]]"}
megabytes=${2:-200}
runs=${3:-5}
bin=$(cd "${B:-build}/bin" && pwd)
work=$(mktemp -d "${TMPDIR:-/dev/shm}/k2hft-rules.XXXXXX")
receiver=
mount=

clean()
{
	trap - EXIT
	if grep -q " $work/mnt fuse" /proc/mounts; then
		fusermount3 -u -z "$work/mnt" || umount -l "$work/mnt"
	fi
	for pid in $mount $receiver; do
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
	echo "rules: not there in time: $*" >&2
	cat "$work"/*.err >&2
	exit 1
}

"${CC:-cc}" -O2 -D_GNU_SOURCE -Itools -o "$work/pipe" tests/bench/pipe.c tools/bench_pipe.c
cat "$logs"/*.log >"$work/logs"
# Through grep, so that the last line has its end.
while :; do cat "$work/logs"; done 2>/dev/null | head -c "${megabytes}000000" | grep -a '' >"$work/input"

# What somebody might look for: some that are common and some that never come, with and without a text that they need.
cat >"$work/patterns" <<'END'
ERROR|FATAL|SEVERE
WARN(ING)?[: ]
authentication failure.*user=(root|admin)
Failed password for (invalid user )?[a-z]+ from [0-9.]+
session opened for user (cyrus|news|root)
blk_-?[0-9]+ terminating$
Received block .* of size [0-9]{6,}
PacketResponder [12] for block
^[0-9]+-[0-9]+-[0-9]+ [0-9:,]+ - ERROR
Connection (reset|refused|broken) (by|for)
kernel: .*(oops|panic|BUG)
[a-z]+\.[a-z]+Exception: .*timeout
mod_jk child workerEnv in error state [0-9]+
KERNEL (FATAL|INFO) data (TLB|storage) error
(GET|POST) /[a-z/]+\.php
address already in use|no route to host
END
# A CR before the LF is not part of what patterns see; to grep it is.
sed 's/\$$/\r?$/' "$work/patterns" >"$work/grep"
grep -a -E -f "$work/grep" "$work/input" >"$work/allow"
grep -a -v -E -f "$work/grep" "$work/input" >"$work/deny"
cp "$work/input" "$work/none"

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
{
	cat <<-END
		[GLOBAL]
		PORT = $(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/receiver.err")
		[SVRNODE]
		NAME = 127.0.0.1
		[K2HFTFUSE]
		K2HTYPE = mem
		[K2HFTFUSE_RULE_DIR]
		TARGET = none
		TRUNS = on
		DEFAULTALL = ALLOW
		[K2HFTFUSE_RULE_DIR]
		TARGET = allow
		TRUNS = on
		DEFAULTALL = DENY
	END
	sed 's/.*/ALLOW = "&"/' "$work/patterns"
	printf '[K2HFTFUSE_RULE_DIR]\nTARGET = deny\nTRUNS = on\nDEFAULTALL = ALLOW\n'
	sed 's/.*/DENY = "&"/' "$work/patterns"
} >"$work/slave.ini"
mkdir "$work/mnt"
"$bin/k2hftfuse" "$work/mnt" -o conf="$work/slave.ini" -f 2>"$work/mount.err" &
mount=$!
await grep -q " $work/mnt fuse" /proc/mounts

for ((run = 0; run <= runs; run++)); do
	for way in none allow deny; do
		seconds=$("$work/pipe" timed "$work/received/$way/$run" "$(stat -c %s "$work/$way")" \
			sh -c "cat '$work/input' >'$work/mnt/$way/$run'")
		cmp "$work/$way" "$work/received/$way/$run"
		rm "$work/received/$way/$run"
		if ((run > 0)); then
			echo "$seconds" >>"$work/$way.seconds"
		fi
	done
done

median()
{
	sort -n "$work/$1.seconds" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
bytes=$(stat -c %s "$work/input")
none_seconds=$(median none)
printf '%s bytes of logs, median of %s runs after one to warm up\n' "$bytes" "$runs"
printf '%-6s %8s %9s %14s %15s\n' rule passes seconds 'MB/s looked at' 'of none'
for way in none allow deny; do
	printf '%s %s %s %s\n' "$(median $way)" "$bytes" "$none_seconds" "$(stat -c %s "$work/$way")" |
		awk -v way=$way '{ printf "%-6s %7.1f%% %9.3f %14.0f %15.2f\n", way, 100 * $4 / $2, $1, $2 / 1e6 / $1, $3 / $1 }'
done
