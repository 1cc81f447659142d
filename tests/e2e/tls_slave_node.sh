#!/bin/sh
# SPDX-License-Identifier: MIT
# The TLS lines of K2HFTFUSE's samples, all of them on both sides: a sender's own are in SLVNODE, the receiver's in GLOBAL and
# SVRNODE, and each side leaves alone what is the other's.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
authority other
certificate server root IP:127.0.0.1
certificate client root DNS:client.example
k2hft=${B:-build}/bin/k2hft
keys() { # AUTHORITY
	printf '%s\n' 'SSL = yes' 'SSL_VERIFY_PEER = yes' "CAPATH = $dir/$1.pem" "SERVER_CERT = $dir/server.pem" \
		"SERVER_PRIKEY = $dir/server.key" "SLAVE_CERT = $dir/server.pem" "SLAVE_PRIKEY = $dir/server.key"
}
slave() { printf '%s\n' '[SLVNODE]' 'NAME = [.]*' "CAPATH = $dir/root.pem" "SLAVE_CERT = $dir/client.pem" "SLAVE_PRIKEY = $dir/client.key"; }
{
	printf '%s\n' '[GLOBAL]' 'PORT = 8020'
	keys root
	printf '%s\n' '[SVRNODE]' 'NAME = 127.0.0.1'
	keys root
	slave
	printf '%s\n' '[K2HFTFUSESVR]' 'TYPE = file' "FILE_BASEDIR = $dir/out"
} >"$dir/conf"
receiver_start
{
	printf '%s\n' '[GLOBAL]' "PORT = $port"
	keys other
	printf '%s\n' '[SVRNODE]' 'NAME = 127.0.0.1'
	keys other
	slave
} >"$dir/slave.ini"
echo encrypted | "$k2hft" push -q --timeout 20 -c "$dir/slave.ini" -t x || fail "push"
[ "$(cat "$dir/out/x")" = encrypted ] || fail "it differs"
"$k2hft" check "$dir/slave.ini" >"$dir/said" || fail "check: $(cat "$dir/said")"
"$k2hft" check "$dir/conf" >"$dir/said" || fail "check: $(cat "$dir/said")"
grep -q 'note: CAPATH, SLAVE_CERT and SLAVE_PRIKEY of \[SLVNODE\] have no effect' "$dir/said" || fail "$(cat "$dir/said")"
# Without them the certificate of GLOBAL and the wrong authority count.
sed -i '/^\[SLVNODE\]/,$d' "$dir/slave.ini"
! echo no | "$k2hft" push -q --timeout 1 -c "$dir/slave.ini" -t x 2>"$dir/said" || fail "another authority"
