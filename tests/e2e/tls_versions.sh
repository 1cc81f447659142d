#!/bin/sh
# SPDX-License-Identifier: MIT
# TLS 1.2 is enough, TLS 1.1 is not, on either side; and SSL_MIN_VER = TLSV1.3 is heeded.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
certificate receiver root IP:127.0.0.1
seq 100000 >"$dir/in"
other=
versions_cleanup() {
	code=$?
	[ -z "$other" ] || kill -9 "$other" 2>/dev/null
	receiver_cleanup
	exit "$code"
}
trap versions_cleanup EXIT

# For all that OpenSSL does in the sender: TLS 1.2 at most.
printf '%s\n' 'openssl_conf = all' '[all]' 'ssl_conf = ssl' '[ssl]' 'system_default = default' '[default]' \
	'MaxProtocol = TLSv1.2' >"$dir/openssl.cnf"
tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key" 'SSL_MIN_VER = TLSV1.3'
openssl_conf=$dir/openssl.cnf
refused 'wants a later TLS: see its SSL_MIN_VER' 'refused: its TLS is older than SSL_MIN_VER' --ca "$dir/root.pem"
tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key"
receiver_start
push --ca "$dir/root.pem" -t older "$dir/in" || fail "TLS 1.2: $(cat "$dir/pushed")"
cmp "$dir/in" "$dir/out/older" || fail "TLS 1.2 differs"
openssl_conf=

# A version that OpenSSL itself would take, so that it is the receiver that refuses.
openssl s_client -connect "127.0.0.1:$port" -tls1_1 -cipher 'ALL:@SECLEVEL=0' </dev/null >"$dir/client" 2>&1
if grep -q 'no protocols available\|unknown option\|Unknown option' "$dir/client"; then
	skip "this openssl has no TLS 1.1"
fi
wait_until logged 'refused: its TLS is older than SSL_MIN_VER'
grep -q 'Cipher is (NONE)\|Cipher    : 0000' "$dir/client" || fail "TLS 1.1: $(cat "$dir/client")"
openssl s_client -connect "127.0.0.1:$port" -tls1_2 </dev/null >"$dir/client" 2>&1
grep -q 'Cipher is (NONE)' "$dir/client" && fail "TLS 1.2 of another client: $(cat "$dir/client")"
receiver_stop TERM

openssl s_server -accept 127.0.0.1:0 -cert "$dir/receiver.pem" -key "$dir/receiver.key" -tls1_1 -www \
	-cipher 'ALL:@SECLEVEL=0' >"$dir/other" 2>&1 &
other=$!
wait_until grep -q ACCEPT "$dir/other"
port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' "$dir/other")
push_fails "the receiver's TLS is older than SSL_MIN_VER\|the receiver wants a later TLS\|refuses the handshake" \
	--ca "$dir/root.pem" -t x
