#!/bin/sh
# SPDX-License-Identifier: MIT
# A host whose name has control characters in it, which no frame may have, sends under a name with ? in their place.
if [ -z "${IN_NAMESPACE:-}" ]; then
	unshare -u true 2>/dev/null || { echo "SKIP: no right to have another host name"; exit 77; }
	IN_NAMESPACE=yes exec unshare -u "$0"
fi
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config 'FORMAT = "%H: %L"'
receiver_start
python3 -c 'import socket; socket.sethostname("web\t1\r")' || fail "sethostname"
echo line | timeout 30 "${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" -t x || fail "push: status $?"
[ "$(cat "$dir/out/x")" = 'web?1?: line' ] || fail "got $(cat "$dir/out/x")"
