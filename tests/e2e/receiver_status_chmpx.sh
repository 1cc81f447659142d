#!/bin/sh
# SPDX-License-Identifier: MIT
# Commands of CHMPX on CTLPORT, which is HTTP here, are answered before the time that a request has is up:
# a client that waits for an answer gets one, which says whom to ask.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_control
receiver_config '[SVRNODE]' "CTLPORT = $control"
receiver_start
python3 - "$control" <<'END' || fail "an answer"
import socket
import sys

for command in (b"DUMP\n", b"ALLSTATUS\r\n", b"SERVICEOUT host:8021\n", b"TRACEVIEW DIR=ALL DEV=ALL COUNT=0\n"):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as client:
        client.settimeout(20)
        client.sendall(command)
        answer = b""
        while b"k2hft stat HOST:PORT asks it\n" not in answer:
            data = client.recv(4096)
            if not data:
                sys.exit("%r: %r" % (command, answer))
            answer += data
        if not answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"):
            sys.exit("%r: %r" % (command, answer))
END
is status_refused 4 || fail "not counted"
