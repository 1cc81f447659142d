#!/bin/sh
# SPDX-License-Identifier: MIT
# Two receivers with one file of all nodes: each finds its own SVRNODE by SELFCTLPORT, and listens on its PORT and CTLPORT.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
second=
trap 'code=$?; [ -z "$second" ] || kill "$second"; receiver_cleanup; exit $code' EXIT
receiver_control
first=$control
for number in 1 2 3; do
	receiver_control
	while [ "$control" -le $((first + number - 1)) ]; do control=$((control + 1)); done
	eval "port$number=$control"
done
# shellcheck disable=SC2154
nodes="[SVRNODE]
NAME = 192.0.2.10
[SVRNODE]
NAME = 127.0.0.1
PORT = $port1
CTLPORT = $first
[SVRNODE]
NAME = 127.0.0.1
PORT = $port3
CTLPORT = $port2"
for own in "$first" "$port2"; do
	printf '%s\n' '[GLOBAL]' 'PORT = 1' 'CTLPORT = 2' 'SSL = no' "SELFCTLPORT = $own" "$nodes" '[K2HFTFUSESVR]' \
		"FILE_BASEDIR = $dir/$own" >"$dir/$own.ini"
done
"$server" -conf "$dir/$first.ini" 2>"$dir/log" &
pid=$!
"$server" -conf "$dir/$port2.ini" 2>"$dir/log2" &
second=$!
listens() { grep -q "listening on 127.0.0.1:$2\$" "$1" && grep -q "answering HTTP on 127.0.0.1:$3\$" "$1"; }
wait_until listens "$dir/log" "$port1" "$first"
wait_until listens "$dir/log2" "$port3" "$port2"
echo to the second | "${B:-build}/bin/k2hft" push -q -r "127.0.0.1:$port3" -t x || fail "push"
[ "$(cat "$dir/$port2/x")" = 'to the second' ] || fail "it did not come to the second"
kill "$second"
wait "$second" || fail "status $? of the second"
second=
receiver_stop TERM
