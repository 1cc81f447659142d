#!/bin/sh
# SPDX-License-Identifier: MIT
# No stream gets to the receiver's own files where they have another name, too, as on a file system that takes .K2HFT for
# .k2hft; here by a bind mount, below FILE_BASEDIR and with a STATEDIR elsewhere.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
alias=$dir/out/d/alias
cleanup() {
	code=$?
	receiver_end
	! grep -q " $alias " /proc/self/mounts || umount -l "$alias"
	receiver_cleanup
	exit "$code"
}
trap cleanup EXIT
for place in out/.k2hft elsewhere; do
	state=$dir/$place
	mkdir -p "$state/deep" "$alias"
	mount --bind "$state" "$alias" 2>/dev/null || skip "mount not permitted"
	receiver_config "STATEDIR = $state"
	receiver_start
	sends 'ring 1 0' d/alias/ledger forged
	sends 'other 1 0' d/alias/deep/x forged
	sends 'third 1 0' d/beside stored
	receiver_stop KILL
	grep -q '^stored$' "$dir/out/d/beside" || fail "$place: what is beside it"
	if [ -e "$state/deep/x" ] || grep -q forged "$state/ledger"; then
		fail "$place: a stream has written to the receiver's files"
	fi
	[ "$(grep -c 'd/alias/' "$state/quarantine/index")" = 2 ] || fail "$place: what was put aside"
	receiver_start
	! logged damaged || fail "$place: the ledger"
	receiver_stop TERM
	umount "$alias"
done

# Nor is FILE_BASEDIR itself STATEDIR by another name.
alias=$dir/again
mkdir "$alias"
mount --bind "$dir/out" "$alias" || fail "mount"
receiver_config "STATEDIR = $alias"
if timeout 20 "$server" -conf "$dir/conf" --listen 127.0.0.1:0 2>"$dir/log"; then
	fail "it has started"
fi
logged 'STATEDIR must not be FILE_BASEDIR itself' || fail "why it has not started"
