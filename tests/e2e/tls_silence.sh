#!/bin/sh
# SPDX-License-Identifier: MIT
# A TLS handshake that is not begun, or breaks off in the middle, costs its connection after 10 s, and nobody else anything.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
certificate receiver root IP:127.0.0.1
tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key"
receiver_start
python3 - "$port" >"$dir/stalled" <<'END' &
import socket, ssl, sys
address = ("127.0.0.1", int(sys.argv[1]))
mute = socket.create_connection(address, timeout=40)
half = socket.create_connection(address, timeout=40)
outgoing = ssl.MemoryBIO()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
handshake = context.wrap_bio(ssl.MemoryBIO(), outgoing)
try:
    handshake.do_handshake()
except ssl.SSLWantReadError:
    pass
half.sendall(outgoing.read()[:100])
whole = socket.create_connection(address, timeout=40)
handshake = context.wrap_bio(ssl.MemoryBIO(), outgoing)
try:
    handshake.do_handshake()
except ssl.SSLWantReadError:
    pass
whole.sendall(outgoing.read())
for peer in (mute, half, whole):
    while peer.recv(4096):
        pass
print("closed")
END
stalled=$!
echo x | push --ca "$dir/root.pem" -t other || fail "another sender: $(cat "$dir/pushed")"
wait $stalled || fail "not closed"
grep -q closed "$dir/stalled" || fail "not closed"
wait_until logged 'refused: no TLS handshake within 10 s'
kill -USR1 "$pid"
wait_until logged 'timeouts=3\>'
logged 'tls_refused=3\>' || fail "not counted"
receiver_stop TERM
