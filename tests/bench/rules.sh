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
TMPDIR=${TMPDIR:-/dev/shm}
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/bench.inc
. tests/bench/bench.inc

# Through grep, so that the last line has its end.
logs_repeat "$logs" "$megabytes" | grep -a '' >"$work/input"
bytes=$(stat -c %s "$work/input")

# Texts that somebody might look for: some that are common and some that never come, with and without a text that they need.
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

rules=$(
	for rule in none allow deny; do
		verdict=ALLOW
		[ $rule != allow ] || verdict=DENY
		printf '[K2HFTFUSE_RULE_DIR]\nTARGET = %s\nTRUNS = on\nDEFAULTALL = %s\n' $rule $verdict
		[ $rule = none ] || sed "s/.*/${rule^^} = \"&\"/" "$work/patterns"
	done
)
receiver received 127.0.0.1
start_mount

measure()
{
	local to=$received/$1/$2
	"$work/pipe" timed "$to" "$(stat -c %s "$work/$1")" sh -c "cat '$work/input' >'$mnt/$1/$2'"
	cmp -s "$work/$1" "$to" || fail "$to differs" >&2
	rm "$to"
}

runs_measure none allow deny
none_seconds=$(median "$work/none.seconds")
printf '%s bytes of logs, median of %s runs after one to warm up\n' "$bytes" "$runs"
printf '%-6s %8s %9s %14s %15s\n' rule passes seconds 'MB/s looked at' 'of none'
for way in none allow deny; do
	printf '%s %s %s %s\n' "$(median "$work/$way.seconds")" "$bytes" "$none_seconds" "$(stat -c %s "$work/$way")" |
		awk -v way=$way '{ printf "%-6s %7.1f%% %9.3f %14.0f %15.2f\n", way, 100 * $4 / $2, $1, $2 / 1e6 / $1, $3 / $1 }'
done
