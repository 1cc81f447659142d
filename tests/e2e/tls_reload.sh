#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGHUP makes new connections use the files as they are then; connections that are there stay; what is wrong changes
# nothing. A sender takes renewed files with its next connection.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority old
authority new
certificate first old IP:127.0.0.1
certificate second new IP:127.0.0.1 3
cp "$dir/first.pem" "$dir/receiver.pem"
cp -p "$dir/first.key" "$dir/receiver.key"
tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key"
receiver_control
printf '%s\n' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control" >>"$dir/conf"
receiver_start

# expires NAME: whether the status says when that certificate expires, and who asks for metrics is told the same.
expires() {
	end=$(openssl x509 -noout -enddate -in "$dir/$1.pem" | sed 's/.*=//')
	end_s=$(date -d "$end" +%s)
	"${B:-build}/bin/k2hft" stat --json "127.0.0.1:$control" >"$dir/shown" || return 1
	grep -q "^\"certificate_expires_s\": $end_s,$" "$dir/shown" || return 1
	"${B:-build}/bin/k2hft" stat "127.0.0.1:$control" >"$dir/shown" || return 1
	grep -q "$(date -u -d "$end" '+, certificate expires %Y-%m-%dT%H:%M:%SZ$')" "$dir/shown" || return 1
	python3 -c 'import http.client, sys
asked = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
asked.request("GET", "/metrics")
print(asked.getresponse().read().decode())' "$control" >"$dir/shown" || return 1
	grep -q "^k2hft_receiver_certificate_expires_seconds $end_s$" "$dir/shown"
}
has() { [ "$(cat "$dir/out/$1" 2>/dev/null)" = "$2" ]; }
cp "$dir/old.pem" "$dir/trusted.pem"
mkfifo "$dir/pipe"
"${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" --ca "$dir/trusted.pem" -t kept <"$dir/pipe" 2>"$dir/kept" &
kept=$!
exec 3>"$dir/pipe"
echo one >&3
wait_until has kept one
wait_until expires first

# A key that is another's: nothing changes.
cp "$dir/second.pem" "$dir/receiver.pem"
kill -HUP "$pid"
wait_until logged 'not reloaded, nothing has changed: .* is not the private key of '
expires first || fail "it expires: $(cat "$dir/shown")"
push --ca "$dir/old.pem" -t before </dev/null || fail "old: $(cat "$dir/pushed")"
echo before | push --ca "$dir/old.pem" -t before || fail "the old files serve no more: $(cat "$dir/pushed")"

cp -p "$dir/second.key" "$dir/receiver.key"
kill -HUP "$pid"
wait_until logged 'receiver: reloaded'
expires second || fail "it expires: $(cat "$dir/shown")"
push_fails 'certificate is refused' --ca "$dir/old.pem" -t refused
wait_until logged 'does not know the authority'
echo after | push --ca "$dir/new.pem" -t after || fail "the new files do not serve: $(cat "$dir/pushed")"
has after after || fail "not written"

# The first connection is the one that it was.
echo two >&3
wait_until has kept "one
two"
[ ! -s "$dir/kept" ] || fail "the connection was lost: $(cat "$dir/kept")"

# After a restart its sender needs the new authority, and takes it without one of its own.
cp "$dir/new.pem" "$dir/trusted.pem"
receiver_stop KILL
receiver_start 3>&-
echo three >&3
exec 3>&-
wait "$kept" || fail "the sender: $(cat "$dir/kept")"
has kept "one
two
three" || fail "kept: $(cat "$dir/out/kept")"
receiver_stop TERM

# The system's certificates are gone, as in a new root: those that were read before serve on.
cp "$dir/new.pem" "$dir/system.pem"
receiver_start
SSL_CERT_FILE=$dir/system.pem SSL_CERT_DIR=$dir/none "${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" --tls -t system \
	<"$dir/pipe" 2>"$dir/kept" &
kept=$!
exec 3>"$dir/pipe"
echo one >&3
wait_until has system one
rm "$dir/system.pem"
receiver_stop KILL
receiver_start 3>&-
echo two >&3
exec 3>&-
wait "$kept" || fail "the sender: $(cat "$dir/kept")"
has system "one
two" || fail "system: $(cat "$dir/out/system")"
receiver_stop TERM
