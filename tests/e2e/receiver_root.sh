#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE_BASEDIR can be the root: a stream's path that leads to the receiver's own state is put aside there, too.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config "STATEDIR = $dir/state"
sed -i 's/^FILE_BASEDIR = .*/FILE_BASEDIR = \//' "$dir/conf"
receiver_start
# Without a link on the way.
real=$(cd "$dir" && pwd -P)
printf '%s\n' 'hello ring 1 0' welcome "stream 1 text ${real#/}/state/taken" "stream 2 text ${real#/}/good" \
	'chunk 1 0 aside\n' 'chunk 2 0 good\n' flush ack bye | wire >"$dir/said" || fail "$(cat "$dir/said")"
receiver_stop TERM
printf 'good\n' | cmp - "$dir/good" || fail "the stream beside it"
[ ! -e "$dir/state/taken" ] || fail "a stream has written to the receiver's state"
printf 'aside\n' | cmp - "$dir/state/quarantine/"*-00000000000000000000 || fail "it is not put aside"
