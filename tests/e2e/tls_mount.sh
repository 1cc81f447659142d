#!/bin/sh
# SPDX-License-Identifier: MIT
# Records of the mount go over TLS if the configuration says so, with certificates of both sides. The status says
# when the mount's own expires; one that is renewed is that of the next connection.
. tests/tools/mount.sh
dir=$work
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
# shellcheck source=tests/tools/counted.inc
. tests/tools/counted.inc
authority root
certificate receiver root IP:127.0.0.1
certificate sender root DNS:sender.example 3
certificate renewed root DNS:sender.example 4
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

# expires NAME: whether the status says when that certificate expires, in each of its forms.
expires() {
	end=$(openssl x509 -noout -enddate -in "$dir/$1.pem" | sed 's/.*=//')
	end_s=$(date -d "$end" +%s)
	quick "$bin/k2hft" stat --json "$mnt" >"$work/shown" || return 1
	grep -q "^\"certificate_expires_s\": $end_s,$" "$work/shown" || return 1
	quick "$bin/k2hft" stat "$mnt" >"$work/shown" || return 1
	grep -q "$(date -u -d "$end" '+, certificate expires %Y-%m-%dT%H:%M:%SZ$')" "$work/shown" || return 1
	[ "$(counted "$mnt" mount_certificate_expires_seconds)" = "$end_s" ]
}
expires sender || fail "it expires: $(cat "$work/shown")"
mv "$work/renewed.key" "$work/sender.key"
mv "$work/renewed.pem" "$work/sender.pem"
stop_receiver
start_receiver
until_true 30 expires sender || fail "it is renewed: $(cat "$work/shown")"
stop_mount || fail "status $? of k2hftfuse"
grep -q 'everything is acknowledged' "$work/mount.err" || fail "no word of acknowledgement"
