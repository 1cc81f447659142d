#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HFTFUSE's measured configuration in YAML and JSON says what it says as INI; a mount from YAML and a receiver from JSON
# in the environment do the work.
. tests/tools/mount.sh
given=$logs/../conf
[ -r "$given/server.ini" ] || skip "no $given/server.ini"
for side in server slave; do
	tests/tools/ini2json.py "$given/$side.ini" >"$work/$side.json"
	tests/tools/ini2json.py "$given/$side.ini" indented >"$work/$side.yaml"
	"$bin/k2hft" check --print "$given/$side.ini" 2>/dev/null | grep -v '^#' >"$work/wanted"
	[ "$(wc -l <"$work/wanted")" -gt 10 ] || fail "$side.ini: $(cat "$work/wanted")"
	for form in json yaml; do
		"$bin/k2hft" check --print "$work/$side.$form" 2>/dev/null | grep -v '^#' >"$work/got"
		cmp -s "$work/wanted" "$work/got" || fail "$side.$form: $(diff "$work/wanted" "$work/got")"
	done
done
# Its port is known when it has run once.
start_receiver
stop_receiver
tests/tools/ini2json.py "$work/server.ini" >"$work/server.json"
K2HFTSVRJSONCONF=$(cat "$work/server.json") "$bin/k2hftfusesvr" -d msg 2>>"$work/receiver.err" &
receiver_pid=$!
until_true 20 receiver_up || fail "the receiver does not listen"
! gone "$receiver_pid" || fail "the receiver ended"
sender_config
tests/tools/ini2json.py "$work/slave.ini" indented >"$work/slave.yaml"
# shellcheck disable=SC2034
mount_options=,conf=$work/slave.yaml
start_mount
seq -f 'line %.0f' 1 20000 >"$work/in"
quick sh -c "cat '$work/in' >'$sent/x'" || fail cat
arrives "$work/in" senddir/x
stop_mount || fail "status $? of k2hftfuse"
stop_receiver
