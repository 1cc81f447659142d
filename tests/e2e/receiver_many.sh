#!/bin/sh
# SPDX-License-Identifier: MIT
# Connections that announce the largest frame and hardly send any of it cost little memory and stop nobody.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
python3 - "$port" >"$dir/trickle" <<'END' &
import socket, struct, sys, time
port = int(sys.argv[1])
# Only a header can be sent by those that have not greeted: 4 KiB of HELLO announced, a byte at a time.
header = struct.pack("<IBBHIIQIIQ", 0x4648324B, 1, 1, 0, 4096, 4096, 0, 0, 0, 0)
peers = []
for number in range(300):
    peer = socket.create_connection(("127.0.0.1", port))
    peer.sendall(header)
    peers.append(peer)
print("connected", flush=True)
for turn in range(100):
    for peer in peers:
        try:
            peer.sendall(b"x")
        except OSError:
            pass
    time.sleep(0.05)
END
trickle=$!
wait_until grep -q connected "$dir/trickle"
seq 1 500000 >"$dir/in"
wire >"$dir/said" <<END || fail "the honest sender"
hello ring 1 0
welcome
stream 1 text f
file 1 $dir/in
ack
bye
END
cmp "$dir/in" "$dir/out/f" || fail "file"
memory=$(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
kill $trickle
wait $trickle
[ "$memory" -lt 150000 ] || fail "$memory kB"
