#!/bin/sh
# SPDX-License-Identifier: MIT
# Who is not who it should be is refused with one clear line on both sides, counted, and nothing is written.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
authority stranger
certificate receiver root IP:127.0.0.1
certificate elsewhere root DNS:elsewhere.example
certificate old root IP:127.0.0.1 -1
certificate sender root DNS:sender.example
certificate strange stranger DNS:sender.example
certificate late root DNS:sender.example -1

receiver_config ""
receiver_start
refused 'ended the TLS handshake: it may have SSL = no' 'refused: it wants TLS, and this receiver has SSL = no' \
	--ca "$dir/root.pem"
receiver_stop TERM

tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key"
receiver_start
refused 'this receiver wants TLS: set SSL = yes' 'refused: this receiver wants TLS'
refused 'certificate is refused: .*CAPATH must have' 'does not know the authority of this receiver' --tls
refused 'certificate is refused: .*CAPATH must have' 'does not know the authority of this receiver' \
	--ca "$dir/stranger.pem"
host=localhost refused 'certificate is refused: hostname mismatch; it must be for the name' \
	"refuses this receiver's certificate" --ca "$dir/root.pem"
kill -USR1 "$pid"
wait_until logged 'counters:'
logged 'tls_refused=[1-9]' || fail "not counted"
logged 'sessions=0' || fail "a session"
receiver_stop TERM

tls_config "SERVER_CERT = $dir/elsewhere.pem" "SERVER_PRIKEY = $dir/elsewhere.key"
receiver_start
refused 'certificate is refused: IP address mismatch; it must be for the name' "refuses this receiver's certificate" \
	--ca "$dir/root.pem"
receiver_stop TERM

tls_config "SERVER_CERT = $dir/old.pem" "SERVER_PRIKEY = $dir/old.key"
receiver_start
refused 'certificate has expired; renew SERVER_CERT' "refuses this receiver's certificate, which has expired" \
	--ca "$dir/root.pem"
receiver_stop TERM

tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key" "CAPATH = $dir/root.pem" \
	'SSL_VERIFY_PEER = yes'
receiver_start
refused 'wants a certificate of this host: set SLAVE_CERT' 'shows no certificate: SSL_VERIFY_PEER = yes here' \
	--ca "$dir/root.pem"
refused "does not know the authority of this host's certificate" "the sender's certificate is refused: .*CAPATH must have" \
	--ca "$dir/root.pem" --cert "$dir/strange.pem" --key "$dir/strange.key"
refused "refuses this host's certificate, which has expired" "the sender's certificate is refused: certificate has expired" \
	--ca "$dir/root.pem" --cert "$dir/late.pem" --key "$dir/late.key"
echo good | push --ca "$dir/root.pem" --cert "$dir/sender.pem" --key "$dir/sender.key" -t good ||
	fail "a good certificate: $(cat "$dir/pushed")"
[ "$(cat "$dir/out/good")" = good ] || fail "not written"
# What cannot be sent encrypted is not sent at all.
push --cert "$dir/sender.pem" -t x </dev/null && fail "a certificate without key"
grep -q 'need each other' "$dir/pushed" || fail "a certificate without key: $(cat "$dir/pushed")"
push --ca "$dir/root.pem" --cert "$dir/sender.pem" --key "$dir/late.key" </dev/null && fail "another's key"
grep -q 'is not the private key of' "$dir/pushed" || fail "another's key: $(cat "$dir/pushed")"
receiver_stop TERM
[ "$status" = 0 ] || fail "status $status"
