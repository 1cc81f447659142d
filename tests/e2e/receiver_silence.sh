#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 60
# Who connects and says nothing is closed after 10 s; who greets and then says nothing is asked, and closed after 15 s;
# who answers stays.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
printf 'closed\n' | wire >"$dir/mute" &
mute=$!
python3 - "$port" >"$dir/deaf" <<'END' &
import socket, subprocess, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.sendall(open("tests/golden/hello.bin", "rb").read())
types = []
while True:
    header = peer.recv(40, socket.MSG_WAITALL)
    if len(header) < 40:
        break
    types.append(header[5])
    peer.recv(int.from_bytes(header[8:12], "little"), socket.MSG_WAITALL)
print(types[0] == 2 and types.count(6) >= 2 and types[-1] == 10)
END
deaf=$!
wire >"$dir/alive" <<END &
hello ring 1 0
welcome
error
END
alive=$!
wait $mute || fail "the mute one"
grep -q '^error 6 no HELLO' "$dir/mute" || fail "$(cat "$dir/mute")"
wait $deaf || fail "the deaf one"
[ "$(cat "$dir/deaf")" = True ] || fail "WELCOME, PING, PING, ERROR expected"
kill -0 $alive || fail "the one that answers was closed"
kill $alive
wait $alive
kill -USR1 "$pid"
wait_until logged 'timeouts=2 '
