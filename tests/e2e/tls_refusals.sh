#!/bin/sh
# SPDX-License-Identifier: MIT
# A peer with the wrong identity is refused with one clear line on both sides, counted, and nothing is written.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
authority stranger
certificate receiver root IP:127.0.0.1
certificate elsewhere root DNS:elsewhere.example
certificate old root IP:127.0.0.1 0
certificate sender root DNS:sender.example
certificate strange stranger DNS:sender.example
certificate late root DNS:sender.example 0
authority selfmade
# Valid from the end of the century on.
: >"$dir/index"
printf '%s\n' '[ca]' 'default_ca = d' '[d]' "database = $dir/index" "new_certs_dir = $dir" 'rand_serial = yes' \
	'default_md = sha256' 'policy = p' 'copy_extensions = copy' '[p]' 'commonName = supplied' >"$dir/ca.conf"
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/early.key" -out "$dir/request" \
		-subj /CN=early -addext subjectAltName=IP:127.0.0.1 &&
		openssl ca -batch -notext -config "$dir/ca.conf" -cert "$dir/root.pem" -keyfile "$dir/root.key" \
			-in "$dir/request" -out "$dir/early.pem" -startdate 20990101000000Z -enddate 20990102000000Z
} 2>"$dir/openssl" || fail "openssl: $(cat "$dir/openssl")"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/selfsigned.key" -subj /CN=selfsigned \
	-out "$dir/selfsigned.pem" -addext subjectAltName=IP:127.0.0.1 -days 2 2>"$dir/openssl" || fail "$(cat "$dir/openssl")"
chmod 600 "$dir"/*.key
# A certificate that has more behind it than a receiver takes.
cp "$dir/sender.pem" "$dir/long.pem"
while [ "$(wc -c <"$dir/long.pem")" -lt 60000 ]; do cat "$dir/root.pem" >>"$dir/long.pem"; done
(umask 077 && openssl rand -hex 32 >"$dir/key" && openssl rand -hex 32 >"$dir/wrong")

server() { tls_config "SERVER_CERT = $dir/$1.pem" "SERVER_PRIKEY = $dir/$1.key"; }
mutual() {
	tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key" "CAPATH = $dir/root.pem" \
		'SSL_VERIFY_PEER = yes'
}
plain() { receiver_config ""; }
shared() { tls_config "PSKFILE = $dir/key"; }

# The receiver's files | what the sender says | what the receiver says | the sender's options; DIR is $dir
while IFS='|' read -r make here there options; do
	echo "$make: $options"
	$make
	# shellcheck disable=SC2046 # each word is an option
	refused "$here" "$there" $(echo "$options" | sed "s|DIR|$dir|g")
done <<'END'
plain|ended the TLS handshake: it may have SSL = no|refused: it wants TLS, and this receiver has SSL = no|--ca DIR/root.pem
server receiver|this receiver wants TLS: set SSL = yes|refused: this receiver wants TLS|
server receiver|certificate is refused: .*CAPATH must have|does not know the authority of this receiver|--tls
server receiver|certificate is refused: .*CAPATH must have|does not know the authority of this receiver|--ca DIR/stranger.pem
server selfsigned|certificate is refused: self-signed certificate; CAPATH must have|does not know the authority of this receiver|--ca DIR/root.pem
server elsewhere|certificate is refused: IP address mismatch; it must be for the name|refuses this receiver's certificate: SERVER_CERT must be for|--ca DIR/root.pem
server old|certificate has expired; renew SERVER_CERT|refuses this receiver's certificate, which has expired|--ca DIR/root.pem
server early|certificate is not yet valid; compare the clocks|refuses this receiver's certificate: .*, and valid by the clock of the sender|--ca DIR/root.pem
server receiver|the shared keys differ|refused: .*both need one PSKFILE|--psk DIR/wrong
mutual|wants a certificate of this host: set SLAVE_CERT|shows no certificate: SSL_VERIFY_PEER = yes here|--ca DIR/root.pem
mutual|does not know the authority of this host's certificate|the sender's certificate is refused: .*CAPATH must have|--ca DIR/root.pem --cert DIR/strange.pem --key DIR/strange.key
mutual|does not know the authority of this host's certificate|the sender's certificate is refused: self-signed certificate; CAPATH must have|--ca DIR/root.pem --cert DIR/selfsigned.pem --key DIR/selfsigned.key
mutual|refuses this host's certificate, which has expired|the sender's certificate is refused: certificate has expired|--ca DIR/root.pem --cert DIR/late.pem --key DIR/late.key
mutual|this receiver wants TLS: set SSL = yes|refused: this receiver wants TLS|
shared|the shared keys differ: PSKFILE must hold the same line|the shared keys differ|--psk DIR/wrong
shared|it may want .* a shared key (PSKFILE)|the shared keys differ|--ca DIR/root.pem
shared|this receiver wants TLS: set SSL = yes|refused: this receiver wants TLS|
END
server receiver
host=localhost refused 'certificate is refused: hostname mismatch; it must be for the name' \
	"refuses this receiver's certificate" --ca "$dir/root.pem"

mutual
# Later ones than OpenSSL 3.0 can answer with another alert.
long='SLAVE_CERT may have more than 32 KiB'
case $(openssl version) in
'OpenSSL 3.0.'*) ;;
*) long="$long\|refuses this host's certificate: see its log" ;;
esac
refused "$long" \
	'its certificates have more than 32 KiB' --ca "$dir/root.pem" --cert "$dir/long.pem" --key "$dir/sender.key"

receiver_start
echo good | push --ca "$dir/root.pem" --cert "$dir/sender.pem" --key "$dir/sender.key" -t good ||
	fail "a good certificate: $(cat "$dir/pushed")"
[ "$(cat "$dir/out/good")" = good ] || fail "not written"
# Records that can't be sent encrypted are not sent at all.
push --cert "$dir/sender.pem" -t x </dev/null && fail "a certificate without key"
grep -q 'need each other' "$dir/pushed" || fail "a certificate without key: $(cat "$dir/pushed")"
push --ca "$dir/root.pem" --cert "$dir/sender.pem" --key "$dir/late.key" </dev/null && fail "another's key"
grep -q 'is not the private key of' "$dir/pushed" || fail "another's key: $(cat "$dir/pushed")"
# Nobody is asked for a passphrase, not even where there is a terminal.
openssl pkey -in "$dir/sender.key" -aes256 -passout pass:secret -out "$dir/locked.key" 2>"$dir/openssl" || fail "$(cat "$dir/openssl")"
timeout 60 python3 - "${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" --ca "$dir/root.pem" --cert "$dir/sender.pem" \
	--key "$dir/locked.key" -t x >"$dir/pushed" <<'END' && fail "a key with a passphrase"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while piece := os.read(terminal, 4096):
        os.write(1, piece)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
grep -q 'locked.key is not a private key in PEM form without passphrase' "$dir/pushed" || fail "a passphrase: $(cat "$dir/pushed")"
receiver_stop TERM
# A private key that others may read works, and everybody says so.
chmod 640 "$dir/sender.key" "$dir/receiver.key"
receiver_start
logged 'SERVER_PRIKEY: other users have access to .*/receiver.key' || fail "the receiver says nothing"
echo good | "${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" --ca "$dir/root.pem" --cert "$dir/sender.pem" \
	--key "$dir/sender.key" -t exposed 2>"$dir/pushed" || fail "an exposed key: $(cat "$dir/pushed")"
grep -q 'other users have access to the private key .*/sender.key' "$dir/pushed" || fail "the sender says nothing"
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/checked" || fail "check: $(cat "$dir/checked")"
grep -q 'SERVER_PRIKEY: other users have access to .*; run chmod 600' "$dir/checked" || fail "check: $(cat "$dir/checked")"
receiver_stop TERM
# A certificate that senders will refuse by its dates is told of before they do.
for name in 'old has expired' 'early is not valid yet'; do
	server "${name%% *}"
	chmod 600 "$dir/${name%% *}.key"
	"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/checked" || fail "check: $(cat "$dir/checked")"
	grep -q "warning: SERVER_CERT: .*/${name%% *}.pem ${name#* } by the clock" "$dir/checked" || fail "check: $(cat "$dir/checked")"
	receiver_start
	logged "SERVER_CERT: .*/${name%% *}.pem ${name#* } by the clock" || fail "the receiver says nothing"
	receiver_stop TERM
done
