#!/bin/sh
# SPDX-License-Identifier: MIT
# At level synced data and then the ledger are on the disk before the acknowledgement, for one sync of each.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
command -v strace >/dev/null || {
	echo "SKIP: no strace"
	exit 77
}
receiver_config ""
# LeakSanitizer can't look at a process that is traced.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
receiver_start
strace -f -qq -e trace=writev,pwrite64,fdatasync,sendmsg -o "$dir/trace" -p "$pid" 2>"$dir/strace" &
tracer=$!
traced() {
	kill -0 $tracer 2>/dev/null || {
		echo "SKIP: tracing not permitted"
		exit 77
	}
	! grep -h '^TracerPid:[[:space:]]*0$' /proc/"$pid"/task/*/status >/dev/null
}
wait_until traced
wire >"$dir/said" <<END || fail "sending"
hello ring 1 0 2
welcome
stream 1 text f
chunk 1 0 one\n
flush
ack
END
grep -q 'level 2' "$dir/said" || fail "$(cat "$dir/said")"
receiver_stop TERM
wait $tracer
# WELCOME; that the file is begun is on the disk before its first byte; then the commit, and a checkpoint around the sync
# of its data; ACK.
order=$(sed -n 's/^[0-9]* *\([a-z0-9]*\)(.*/\1/p' "$dir/trace" | head -n 10 | tr '\n' ' ')
wanted='sendmsg pwrite64 fdatasync writev pwrite64 pwrite64 fdatasync pwrite64 fdatasync sendmsg '
[ "$order" = "$wanted" ] || fail "$order"
