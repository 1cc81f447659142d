#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 120
# 1,000 senders that greet, announce the largest frame and send it a byte at a time, or much of it and no end, cost bounded
# memory, with the default of BUFFERMAX, and stop nobody. One more than CONNMAX is told so on both sides.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
files=$(sed -n 's/^Max open files  *[0-9a-z]*  *\([0-9a-z]*\) .*/\1/p' /proc/self/limits)
if [ "$files" != unlimited ] && [ "$files" -lt 4096 ]; then
	echo "SKIP: 1,000 connections need more than $files open files"
	exit 77
fi
if grep -q __tsan_init "${B:-build}/bin/k2hftfusesvr"; then
	echo "SKIP: with the thread sanitizer 1,000 connections take longer than a frame may, and other memory"
	exit 77
fi
# What was freed counts as well otherwise.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=1"
crowd=
trap '[ -z "$crowd" ] || kill "$crowd" 2>/dev/null; receiver_cleanup' EXIT
seq 1 200000 >"$dir/in"

# BYTES of the frame that each sends at once, NAME of the honest sender's file, BYTES of its frames
crowd() {
	receiver_start
	: >"$dir/crowd"
	"${B:-build}/tests/tools/crowd" "$port" 1000 "$1" >"$dir/crowd" &
	crowd=$!
	until grep -q there "$dir/crowd"; do
		kill -0 "$crowd" || fail "the crowd ended"
		sleep 0.05
	done
	wire >"$dir/said" <<-END || fail "the honest sender: $(cat "$dir/said")"
		hello ring$2 1 0
		welcome
		stream 1 text $2
		frame $3
		file 1 $dir/in
		ack
		bye
	END
	cmp "$dir/in" "$dir/out/$2" || fail "file $2"
	memory=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
	[ "$memory" -lt 262144 ] || fail "$memory kB"
	! grep -q error "$dir/crowd" || fail "$(cat "$dir/crowd")"
}
crowd_end() {
	kill "$crowd"
	wait "$crowd"
	receiver_stop TERM
}

receiver_config 'CONNMAX = 1001'
crowd 1 slow 1048576
kill -USR1 "$pid"
wait_until logged ' starved=0 '
# The honest one may not be gone yet.
printf '%s\n' 'hello a 1 0' error closed | wire >"$dir/a" 2>/dev/null &
a=$!
printf '%s\n' 'hello b 1 0' error closed | wire >"$dir/b" 2>/dev/null &
b=$!
wait_until grep -qs '^error 6 too many senders' "$dir/a" "$dir/b"
wait_until logged '127.0.0.1 is refused: there are as many connections as CONNMAX allows'
kill "$a" "$b" 2>/dev/null
crowd_end

crowd 1000000 fast 1048576
kill -USR1 "$pid"
wait_until logged ' starved=[1-9]'
# Who takes memory that others wait for and does not go on with its frame loses it.
wait_until logged 'memory for frames is short (BUFFERMAX), and this frame stood still'
crowd_end
