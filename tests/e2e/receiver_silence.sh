#!/bin/sh
# SPDX-License-Identifier: MIT
# A peer that connects and says nothing, or no whole HELLO, is closed after 10 s; who greets and then says nothing, or stops in the
# middle of a frame, is asked, and closed after 15 s; who answers stays.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
printf 'closed\n' | wire >"$dir/mute" &
mute=$!
python3 - "$port" >"$dir/slow" <<'END' &
import socket, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1)
hello = open("tests/golden/hello.bin", "rb").read()
for byte in hello[:-1]:
    try:
        peer.sendall(bytes([byte]))
        if not peer.recv(1, socket.MSG_PEEK):
            break
    except TimeoutError:
        continue
    except OSError:
        break
    print("answered")
    break
END
slow=$!
# deaf.py PORT RING [FILE]: greets, with wire_send's HELLO, sends all but the last byte of FILE, and only listens then.
cat >"$dir/deaf.py" <<'END'
import os, socket, subprocess, sys
catch = socket.create_server(("127.0.0.1", 0))
subprocess.run([os.environ.get("B", "build") + "/tests/tools/wire_send"], check=True, text=True,
               input=f"connect {catch.getsockname()[1]}\nhello {sys.argv[2]} 1 0\n")
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.sendall(catch.accept()[0].makefile("rb").read())
if len(sys.argv) > 3:
    peer.sendall(open(sys.argv[3], "rb").read()[:-1])
types = []
while True:
    header = peer.recv(40, socket.MSG_WAITALL)
    if len(header) < 40:
        break
    types.append(header[5])
    peer.recv(int.from_bytes(header[8:12], "little"), socket.MSG_WAITALL)
print(types[0] == 2 and types.count(6) >= 2 and types[-1] == 10)
END
python3 "$dir/deaf.py" "$port" deaf >"$dir/deaf" &
deaf=$!
python3 "$dir/deaf.py" "$port" half tests/golden/stream.bin >"$dir/half" &
half=$!
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
wait $half || fail "the one in the middle of a frame"
[ "$(cat "$dir/half")" = True ] || fail "in the middle of a frame: WELCOME, PING, PING, ERROR expected"
wait $slow || fail "the slow one"
grep -q '^answered' "$dir/slow" || fail "the slow one: $(cat "$dir/slow")"
kill -0 $alive || fail "the one that answers was closed"
kill $alive
wait $alive
kill -USR1 "$pid"
wait_until logged 'timeouts=4\>'
