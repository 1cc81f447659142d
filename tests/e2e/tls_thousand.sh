#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 240
# With TLS 1,000 senders cost bounded memory, too, with the default of BUFFERMAX, and stop nobody: whether they stop in the
# handshake, in a record, or in a frame of which they send a byte at a time, or much and no end. Who announces a ClientHello
# that is longer than any is told off before there is room for it.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
files=$(sed -n 's/^Max open files  *[0-9a-z]*  *\([0-9a-z]*\) .*/\1/p' /proc/self/limits)
if [ "$files" != unlimited ] && [ "$files" -lt 4096 ]; then
	echo "SKIP: 1,000 connections need more than $files open files"
	exit 77
fi
if grep -q __tsan_init "${B:-build}/bin/k2hftfusesvr"; then
	echo "SKIP: with the thread sanitizer 1,000 connections take longer than a handshake may, and other memory"
	exit 77
fi
# What was freed counts as well otherwise.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=1"
crowd=
trap '[ -z "$crowd" ] || kill "$crowd" 2>/dev/null; receiver_cleanup' EXIT
seq 1 200000 >"$dir/in"
(umask 077 && echo 00112233445566778899aabbccddeeff >"$dir/key")

# DEED BYTES [OPTION...] as tests/tools/crowd.c has them
crowd() {
	receiver_start
	deed=$1 bytes=$2
	shift 2
	: >"$dir/crowd"
	"${B:-build}/tests/tools/crowd" -k "$dir/key" -d "$deed" "$@" "$port" 1000 "$bytes" >"$dir/crowd" &
	crowd=$!
	until grep -q there "$dir/crowd"; do
		kill -0 "$crowd" || fail "the crowd ended"
		sleep 0.05
	done
	push --psk "$dir/key" --timeout 60 -t "$deed.$bytes" "$dir/in" || fail "$deed: $(cat "$dir/pushed")"
	cmp "$dir/in" "$dir/out/$deed.$bytes" || fail "file $deed.$bytes"
	memory=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
	[ "$memory" -lt 262144 ] || fail "$deed $bytes: $memory kB"
	! grep -q error "$dir/crowd" || fail "$(cat "$dir/crowd")"
	kill -USR1 "$pid"
	wait_until logged ' tls_refused='
	kill "$crowd"
	wait "$crowd"
	receiver_stop TERM
	echo "$deed $bytes: $memory kB"
}

tls_config "PSKFILE = $dir/key"
crowd frame 1
crowd record 16000
crowd frame 1000000
crowd answer 0
crowd hello 16000 -f 16384
logged ' tls_refused=0 ' || fail "a ClientHello of 16 KiB is refused"
crowd hello 100000 -f 131396
logged 'its ClientHello is longer than 16 KiB'
logged ' tls_refused=1000 ' || fail "longer ones are not"
