#!/bin/sh
# SPDX-License-Identifier: MIT
# A name that stands in /etc/hosts twice is listened on once, by LISTEN and by CTLADDRESS; of one with more than 8
# addresses both say so.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	skip "no right to a mount namespace"
fi
{
	cat /etc/hosts
	echo 127.0.0.1 twice.k2hft.test
	echo 127.0.0.1 twice.k2hft.test
	for last in 1 2 3 4 5 6 7 8 9; do
		echo 127.0.0.$last many.k2hft.test
	done
} >"$dir/hosts"
cat >"$dir/named" <<'END'
#!/bin/sh
mount --bind "$1" /etc/hosts || exit 77
shift
exec "$@"
END
chmod +x "$dir/named"

decided() { logged 'listening on' || ! kill -0 "$pid" 2>/dev/null; }
for try in 1 2 3 4 5; do
	free=$((20000 + ($$ * 7 + try * 101) % 12000))
	receiver_config 'LISTEN = twice.k2hft.test' 'CTLADDRESS = twice.k2hft.test' '[SVRNODE]' 'NAME = localhost' \
		"PORT = $free" "CTLPORT = $((free + 1))"
	: >"$dir/log"
	unshare -m "$dir/named" "$dir/hosts" "$server" -conf "$dir/conf" 2>"$dir/log" &
	pid=$!
	wait_until decided
	! grep -q "port $free: Address already in use" "$dir/log" || continue
	break
done
logged "listening on 127\.0\.0\.1:$free" || fail "LISTEN"
logged "status: answering HTTP on 127\.0\.0\.1:$((free + 1))" || fail "CTLADDRESS"
[ "$(grep -c 'listening on' "$dir/log")" = 1 ] || fail "one socket"
# The status is for those who ask for this host by a name of its own, of which CTLADDRESS is one.
python3 - $((free + 1)) twice.k2hft.test "$(uname -n)" <<'END' || fail "a name of this host is refused"
import socket, sys
for name in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as asked:
        asked.sendall(f"GET / HTTP/1.1\r\nHost: {name}:8021\r\n\r\n".encode())
        answer = asked.recv(100)
    if not answer.startswith(b"HTTP/1.1 200 "):
        sys.exit(f"{name}: {answer}")
END
receiver_stop TERM

many() {
	receiver_config "$1 = many.k2hft.test" "$2 = 127.0.0.1" '[SVRNODE]' 'NAME = localhost' "PORT = $free" \
		"CTLPORT = $((free + 1))"
	unshare -m "$dir/named" "$dir/hosts" timeout 60 "$server" -conf "$dir/conf" 2>"$dir/log"
	status=$?
	[ "$status" = 1 ] || fail "$1: status $status"
	logged "can't listen on many.k2hft.test port [0-9]*.*: it has more than 8 addresses; name one" || fail "$1"
}
many LISTEN CTLADDRESS
many CTLADDRESS LISTEN
