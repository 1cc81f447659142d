#!/bin/sh
# SPDX-License-Identifier: MIT
# Where it listens follows from LISTEN, SSL and SVRNODE: loopback unless the configuration says more in so many words.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc

# LINES of the configuration before [K2HFTFUSESVR], LINES of that section. Retries with another port if one is taken.
listens() {
	for try in 1 2 3 4 5; do
		free=$((20000 + ($$ * 7 + try * 101) % 12000))
		printf "[GLOBAL]\nPORT = $free\n$1\n[K2HFTFUSESVR]\nFILE_BASEDIR = %s\n$2\n" "$dir/out" >"$dir/conf"
		: >"$dir/log"
		"$server" -conf "$dir/conf" 2>"$dir/log" &
		pid=$!
		wait_until decided
		! logged 'Address already in use' || continue
		kill -USR1 "$pid"
		wait_until logged counters:
		sed -n "s/.*listening on \(.*\):$free\$/\1/p" "$dir/log" | sort >"$dir/where"
		receiver_stop TERM
		return
	done
	fail "no free port after $try tries"
}
warned() { [ "$(grep -c unencrypted "$dir/log")" = 1 ] || fail "$1: one warning"; }
decided() { logged 'listening on' || ! kill -0 "$pid" 2>/dev/null; }

listens '' ''
grep -qx '127\.0\.0\.1' "$dir/where" || fail "no key: loopback"
! grep -qvx -e '127\.0\.0\.1' -e '\[::1\]' "$dir/where" || fail "no key: only loopback"
! logged unencrypted || fail "no key: warning"

listens '[SVRNODE]\nNAME = 127.0.0.1\nSSL = no' ''
[ "$(cat "$dir/where")" = 127.0.0.1 ] || fail "NAME is an address"

listens 'SSL = no\n[SVRNODE]\nNAME = localhost' ''
! grep -qvx -e '127\.0\.0\.1' -e '\[::1\]' "$dir/where" || fail "NAME is localhost"

listens 'SSL = no\n[SVRNODE]\nNAME = host.example.invalid' ''
grep -qx '0\.0\.0\.0' "$dir/where" || fail "SSL = no: every address"
warned "SSL = no"
logged 'any host may send' || fail "SSL = no: any host"

listens 'SSL = no' 'LISTEN = 127.0.0.1'
[ "$(cat "$dir/where")" = 127.0.0.1 ] || fail "LISTEN"
! logged unencrypted || fail "LISTEN on loopback: warning"

listens '' 'LISTEN = 0.0.0.0'
[ "$(cat "$dir/where")" = 0.0.0.0 ] || fail "LISTEN without SSL"
warned "LISTEN without SSL"

listens 'SSL = no\n[SLVNODE]\nNAME = 192.0.2.1' 'LISTEN = 0.0.0.0'
warned "SLVNODE"
! logged 'any host may send' || fail "SLVNODE: not any host"
