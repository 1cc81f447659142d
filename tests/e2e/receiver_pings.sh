#!/bin/sh
# SPDX-License-Identifier: MIT
# Every PING is answered, also when thousands come at once; who does not read the answers is not read, and stops nobody.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
python3 - "$port" <<'END' || fail "answers"
import socket, sys
hello, ping = (open(f"tests/golden/{name}.bin", "rb").read() for name in ("hello", "ping"))
deaf = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
deaf.sendall(hello)
deaf.recv(1)
deaf.setblocking(False)
try:
    for _ in range(100000):
        deaf.send(ping * 100)
except BlockingIOError:
    pass
else:
    sys.exit("everything was read")
deaf.close()
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
peer.sendall(hello + ping * 5000)
answers = peer.makefile("rb")
pongs = 0
while pongs < 5000:
    header = answers.read(40)
    answers.read(int.from_bytes(header[8:12], "little"))
    pongs += header[5] == 7
END
receiver_stop TERM
