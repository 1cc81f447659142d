#!/bin/sh
# SPDX-License-Identifier: MIT
# At level synced data and then the ledger are on the disk before the acknowledgement, for one sync of each.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
command -v strace >/dev/null || skip "no strace"
receiver_config ""
# LeakSanitizer can't look at a process that is traced.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
receiver_start
traced() {
	kill -0 $tracer 2>/dev/null || skip "tracing not permitted"
	! grep -h '^TracerPid:[[:space:]]*0$' /proc/"$pid"/task/*/status >/dev/null
}
# trace CALLS: to $dir/trace, until the receiver ends.
trace() {
	strace -f -qq -e "trace=$1" -o "$dir/trace" -p "$pid" 2>"$dir/strace" &
	tracer=$!
	wait_until traced
}
# The calls in their order, on one line.
order() {
	sed -n 's/^[0-9]* *\([a-z0-9]*\)(.*/\1/p' "$dir/trace" | tr '\n' ' '
}
trace writev,pwrite64,fdatasync,sendmsg
sends 'ring 1 0 3' f one
grep -q 'level 3' "$dir/said" || fail "$(cat "$dir/said")"
receiver_stop TERM
wait $tracer
# WELCOME; that the file is begun is on the disk before its first byte; then the commit, and a checkpoint around the sync
# of its data; ACK.
wanted='sendmsg pwrite64 fdatasync writev pwrite64 pwrite64 fdatasync pwrite64 fdatasync sendmsg '
case $(order) in
"$wanted"*) ;;
*) fail "$(order)" ;;
esac

# A ledger that says that its receiver ended in order says that all of it is on the disk: the quarantine, too.
ln -s ../outside "$dir/out/link"
receiver_start
trace renameat,syncfs
sends 'ring 1 40' link/x bad
receiver_stop TERM
wait $tracer
[ "$(order)" = 'renameat syncfs ' ] || fail "at the end: $(order)"
