#!/bin/sh
# SPDX-License-Identifier: MIT
# Input that can't be sent: a clear line on standard error, status 2 for wrong arguments and a wrong configuration, 1 for the
# rest, nothing sent.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft="${B:-build}/bin/k2hft"
echo line >"$dir/line"

# expect STATUS TEXT ARGUMENT...: the command fails so, with a line that has the text
expect() {
	expected=$1
	text=$2
	shift 2
	"$k2hft" push "$@" <"$dir/line" >"$dir/output" 2>"$dir/errors"
	status=$?
	[ $status = "$expected" ] || fail "push $*: status $status, not $expected: $(cat "$dir/errors")"
	grep -q -e "^k2hft push: .*$text" "$dir/errors" || fail "push $*: says $(cat "$dir/errors")"
	[ ! -s "$dir/output" ] || fail "push $*: writes to standard output"
}

expect 2 'a receiver is needed'
expect 2 'one of -r and -c is enough' -r localhost -c "$dir/line"
expect 2 '--config other: it was given before' -c one --config other
expect 2 '--stream b: it was given before' -r localhost -t a "$dir/line" -t b "$dir/line"
expect 2 'port from 1 to 65535' -r localhost:0
expect 2 'port from 1 to 65535' -r localhost:65536
expect 2 'port from 1 to 65535' -r localhost:http
expect 2 'port from 1 to 65535' -r :8020
expect 2 'port from 1 to 65535' -r '[::1'
expect 2 'a relative path' -r localhost -t /absolute
expect 2 'a relative path' -r localhost -t a/../b
expect 2 '--host: a name of 1 to 255 bytes without control characters' -r localhost --host "$(printf 'a\tb')"
expect 2 '--host: a name' -r localhost --host "$(printf '%0256d' 1)"
expect 2 '--host: a name' -r localhost --host ''
expect 2 'seconds' -r localhost --timeout soon
expect 2 'written' -r localhost --level certain
expect 2 'never' -r localhost --compress maybe
expect 2 'size' -r localhost --ring-size 1
expect 1 'receiver name.invalid: ' -r name.invalid
expect 1 'No such file' -r localhost "$dir/missing"
expect 2 'No such file' -c "$dir/missing.ini"
printf '[GLOBAL]\nPORT = many\n' >"$dir/wrong.ini"
expect 2 'wrong.ini:2:' -c "$dir/wrong.ini"
"$k2hft" push --unknown 2>"$dir/errors"
[ $? = 2 ] || fail "unknown option"
grep -q "Try 'k2hft push --help'" "$dir/errors" || fail "unknown option: $(cat "$dir/errors")"
"$k2hft" push --help | grep -q 'usage: k2hft push' || fail "--help"

# Nothing listens: the port was somebody's a moment ago.
receiver_config ""
receiver_start
receiver_stop TERM
expect 1 '1 record is not acknowledged.*refused' -r "127.0.0.1:$port" --timeout 0
# The same with an input that does not end.
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe"
echo line >&3
"$k2hft" push -r "127.0.0.1:$port" --timeout 1 "$dir/pipe" 2>"$dir/errors" && fail "push to nobody"
grep -q "receiver 127.0.0.1 port $port: .*refused" "$dir/errors" || fail "$(cat "$dir/errors")"
grep -q '1 record is not acknowledged' "$dir/errors" || fail "$(cat "$dir/errors")"
exec 3>&-
# Somebody else's protocol.
python3 - "$dir/port" <<'END' &
import socket
import sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
with open(sys.argv[1], "w") as file:
    file.write(f"{listener.getsockname()[1]}\n")
while True:
    connection = listener.accept()[0]
    connection.recv(1)
    connection.sendall(b"220 mail.example ESMTP, and then some more text than a header has\r\n")
    connection.close()
END
pid=$!
wait_until [ -s "$dir/port" ]
expect 1 'not acknowledged.*no receiver' -r "127.0.0.1:$(cat "$dir/port")" --timeout 2
# Nothing is said of attempts, and nothing is sent when one of the files is not there.
receiver_stop KILL 2>/dev/null
"$k2hft" push -r "127.0.0.1:$port" --timeout 1 "$dir/line" 2>"$dir/errors" && fail "push to nobody"
grep -q 'trying again' "$dir/errors" || fail "without -q: $(cat "$dir/errors")"
"$k2hft" push -q -r "127.0.0.1:$port" --timeout 1 "$dir/line" 2>"$dir/errors" && fail "push to nobody"
grep -q 'trying again' "$dir/errors" && fail "with -q: $(cat "$dir/errors")"
receiver_start
expect 1 'No such file' -r "127.0.0.1:$port" "$dir/line" "$dir/missing"
[ ! -e "$dir/out/line" ] || fail "the file before a missing one is sent"
expect 1 'Is a directory' -r "127.0.0.1:$port" "$dir/line" "$dir"
[ ! -e "$dir/out/line" ] || fail "the file before a directory is sent"
# A file that can't be read to its end does not keep others from arriving: of this one nothing can, at address 0.
expect 1 '/proc/self/mem: Input/output error' -r "127.0.0.1:$port" "$dir/line" /proc/self/mem
cmp "$dir/line" "$dir/out/line" || fail "the file before one that can't be read"
