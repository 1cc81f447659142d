#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft check --connect greets receivers, and tells which of them don't answer, and of a receiver that its port is taken.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft=${B:-build}/bin/k2hft

# check STATUS PATTERN FILE: the status, and a line of what is said
check() {
	"$k2hft" check --connect "$3" >"$dir/said" 2>&1
	status=$?
	[ $status = "$1" ] || fail "status $status: $(cat "$dir/said")"
	grep -q "$2" "$dir/said" || fail "no '$2' in $(cat "$dir/said")"
}
sender_config() {
	printf '%s\n' '[GLOBAL]' "PORT = $port" '[SVRNODE]' "NAME = $1" '[K2HFTFUSE]' '[K2HFTFUSE_RULE_DIR]' 'TARGET = a' \
		'TRUNS = yes' 'DEFAULTALL = ALLOW' >"$dir/sender.ini"
}

receiver_config ""
receiver_start
sender_config 127.0.0.1
check 0 '0 errors' "$dir/sender.ini"
counted=$(grep -c 'session: .* connected' "$dir/log")
[ "$counted" = 1 ] || fail "$counted greetings"
printf '[GLOBAL]\nPORT = %s\n[K2HFTFUSESVR]\nTYPE = file\nLISTEN = 127.0.0.1\nFILE_BASEDIR = %s\n' "$port" "$dir/out" >"$dir/same.ini"
check 0 "warning: PORT = $port: in use" "$dir/same.ini"
# Of several only those that are away are named.
printf '[SVRNODE]\nNAME = no.such.host.invalid\n' >>"$dir/sender.ini"
check 2 'error: receiver no.such.host.invalid:' "$dir/sender.ini"
! grep -q 'receiver 127.0.0.1' "$dir/said" || fail "one that answers is named: $(cat "$dir/said")"
# Files of a mount: a directory of the ring's file has to be there, and those of an OUTPUTFILE are made.
: >"$dir/plain"
files_config() {
	sender_config 127.0.0.1
	sed -i "s|^.K2HFTFUSE.$|&\nK2HTYPE = file\nK2HINIT = no\nK2HFILE = $1|" "$dir/sender.ini"
	printf 'OUTPUTFILE = %s\n' "$2" >>"$dir/sender.ini"
}
files_config "$dir/ring" "$dir/new/folder/"
check 0 '0 errors' "$dir/sender.ini"
files_config "$dir/none/ring" "$dir/copy"
check 2 "error: K2HFILE = $dir/none/ring: No such file" "$dir/sender.ini"
files_config "$dir/ring" "$dir/plain/folder/"
check 2 "error: OUTPUTFILE = $dir/plain/folder/: Not a directory" "$dir/sender.ini"
receiver_stop TERM
sender_config 127.0.0.1
check 2 "error: receiver 127.0.0.1:$port: .*refused" "$dir/sender.ini"
check 0 '0 errors' "$dir/same.ini"
! grep -q 'in use' "$dir/said" || fail "the port is free: $(cat "$dir/said")"
# What speaks another protocol is no receiver.
python3 -c 'import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(flush=True)
while True:
    server.accept()[0].sendall(b"SSH-2.0-other\r\n")' "$port" >"$dir/up" &
other=$!
wait_until test -s "$dir/up"
"$k2hft" check --connect "$dir/sender.ini" >"$dir/said"
status=$?
kill $other
[ $status = 2 ] || fail "status $status of another protocol"
grep -q "error: receiver 127.0.0.1:$port: " "$dir/said" || fail "$(cat "$dir/said")"
