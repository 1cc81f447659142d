#!/bin/sh
# SPDX-License-Identifier: MIT
# What is written to the mount goes over TLS if the configuration says so, with certificates of both sides.
. tests/tools/mount.sh
dir=$work
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
certificate receiver root IP:127.0.0.1
certificate sender root DNS:sender.example
global_settings="
SSL = yes
SSL_VERIFY_PEER = yes
SSL_MIN_VER = TLSV1.3
CAPATH = $work/root.pem
SERVER_CERT = $work/receiver.pem
SERVER_PRIKEY = $work/receiver.key
SLAVE_CERT = $work/sender.pem
SLAVE_PRIKEY = $work/sender.key"
start_receiver
start_mount
seq 1 300000 >"$work/lines"
dd if=/dev/urandom of="$work/random" bs=1M count=3 status=none
for name in lines random; do
	quick sh -c "cat '$work/$name' >'$sent/$name'" || fail "cat $name"
	arrives "$work/$name" "senddir/$name"
done
stop_mount || fail "status $? of k2hftfuse"
grep -q 'everything is acknowledged' "$work/mount.err" || fail "no word of acknowledgement"
