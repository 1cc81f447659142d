#!/bin/sh
# SPDX-License-Identifier: MIT
# NAME of [SLVNODE] says who may connect: by address, by the name of that address, by the certificate; whoever may not is
# told so, on both sides, and nothing is written. A name that a sender gives itself opens nothing.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
name=$(getent hosts 127.0.0.1 | awk '{ print $2; exit }')

# LINE...: sections of SLVNODE behind the configuration
allow() { printf '%s\n' "$@" >>"$dir/conf"; }

receiver_config ""
allow '[SLVNODE]' 'NAME = elsewhere.example' '[SLVNODE]' 'NAME = 192.0.2.[1-9]'
refused 'refuses with code 5: this host may not connect: NAME of \[SLVNODE\] at the receiver says who may' \
	'refused: no NAME of \[SLVNODE\] is for it: its '
receiver_start
# However often one tries.
printf '%s\n' 'hello ring 1 0' error closed | wire >"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^error 5 this host may not connect' "$dir/said" || fail "$(cat "$dir/said")"
count=$(grep -c 'refused: no NAME' "$dir/log")
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	printf '%s\n' 'hello ring 1 0' error closed | wire >/dev/null || fail "try $try"
done
[ "$(grep -c 'refused: no NAME' "$dir/log")" -lt $((count + 16)) ] || fail "a line for each"
kill -USR1 "$pid"
wait_until logged 'counters:'
logged 'not_admitted=[0-9][0-9]' || fail "not counted"
! logged ' sessions=' || fail "a session"
receiver_stop TERM

receiver_config ""
allow '[SLVNODE]' 'NAME = elsewhere.example' '[SLVNODE]' 'NAME = 127.0.0.[1-9]'
receiver_start
echo address | push -t address || fail "by address: $(cat "$dir/pushed")"
receiver_stop TERM

if [ "$name" ] && getent ahostsv4 "$name" | grep -q '^127\.0\.0\.1 '; then
	receiver_config ""
	allow '[SLVNODE]' "NAME = $name"
	receiver_start
	echo name | push -t name || fail "by name: $(cat "$dir/pushed")"
	echo name | push -t name || fail "by a name that is known: $(cat "$dir/pushed")"
	receiver_stop TERM
	[ "$(cat "$dir/out/name")" = "$(printf 'name\nname')" ] || fail "by name: not written"
fi

receiver_config ""
allow '[SLVNODE]' 'NAME = [.]*'
receiver_start
echo all | push -t all || fail "anybody: $(cat "$dir/pushed")"
receiver_stop TERM

authority root
certificate receiver root IP:127.0.0.1
certificate good root DNS:web7.example
certificate other root DNS:db7.example,DNS:db8.example
tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key" "CAPATH = $dir/root.pem" \
	'SSL_VERIFY_PEER = yes'
allow '[SLVNODE]' 'NAME = web[1-9].example'
refused 'code 5: this host may not connect' 'refused: no NAME of \[SLVNODE\] is for it: its certificate is for db7.example' \
	--ca "$dir/root.pem" --cert "$dir/other.pem" --key "$dir/other.key"
receiver_start
echo certificate | push --ca "$dir/root.pem" --cert "$dir/good.pem" --key "$dir/good.key" -t certificate ||
	fail "by certificate: $(cat "$dir/pushed")"
receiver_stop TERM
for file in address all certificate; do
	[ "$(cat "$dir/out/$file")" = "$file" ] || fail "$file is not written"
done

# A fault of a NAME is reported before anything runs.
receiver_config ""
printf '%s\n' '[SLVNODE]' 'NAME = web(' '[SLVNODE]' 'CTLPORT = 8022' >>"$dir/conf"
"$server" -conf "$dir/conf" 2>"$dir/log" && fail "it started"
logged 'conf:[0-9]*: ' || fail "no place"
"${B:-build}/bin/k2hft" check "$dir/conf" >"$dir/checked" && fail "check finds nothing"
grep -q 'error: \[SLVNODE\] needs NAME' "$dir/checked" || fail "$(cat "$dir/checked")"
grep -q 'error: regular expression: missing closing parenthesis' "$dir/checked" || fail "$(cat "$dir/checked")"
