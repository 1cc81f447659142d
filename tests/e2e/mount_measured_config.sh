#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HFTFUSE's measured configuration, nothing changed but host name, port and FILE_BASEDIR: cat FILE > MNT/senddir/x
# lands in log/unify.log.
. tests/tools/mount.sh
conf=$logs/../conf
[ -r "$conf/server.ini" ] || skip "no $conf/server.ini"
pick_port
receiver_config() {
	sed "s|^NAME.*yahoo.co.jp|NAME = 127.0.0.1|; s|^FILE_BASEDIR.*|FILE_BASEDIR = $received|; s|^PORT.*|PORT = $port|
		s|^CTLPORT.*8021|CTLPORT = $((port + 1))|" "$conf/server.ini" >"$work/server.ini"
}
sender_config() {
	sed "s|^NAME.*yahoo.co.jp|NAME = 127.0.0.1|; s|^PORT.*|PORT = $port|" "$conf/slave.ini" >"$work/slave.ini"
}
start_receiver
start_mount
seq -f 'a line of some length, number %.0f' 1 200000 >"$work/in"
quick sh -c "cat '$work/in' >'$sent/x'" || fail cat
arrives "$work/in" log/unify.log
stop_mount || fail "status $? of k2hftfuse"
