#!/bin/sh
# SPDX-License-Identifier: MIT
# With one shared key file no certificate is needed: both sides prove that they have it, and nobody else gets in.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
umask 077
openssl rand -hex 32 >"$dir/key"
echo "logs:$(openssl rand -hex 32)" >"$dir/named"
echo "logs:$(openssl rand -hex 32)" >"$dir/other"
seq 300000 >"$dir/in"

tls_config "PSKFILE = $dir/key"
receiver_start
push --psk "$dir/key" -t unnamed "$dir/in" || fail "push: $(cat "$dir/pushed")"
cmp "$dir/in" "$dir/out/unnamed" || fail "differs"
receiver_stop TERM

tls_config "PSKFILE = $dir/named"
receiver_start
push --psk "$dir/named" -t named "$dir/in" || fail "push: $(cat "$dir/pushed")"
cmp "$dir/in" "$dir/out/named" || fail "differs"
chmod 640 "$dir/named"
push --psk "$dir/named" -t mode </dev/null && fail "a key that others may read"
grep -q 'other users have access to the key; run chmod 600' "$dir/pushed" || fail "mode: $(cat "$dir/pushed")"
receiver_stop TERM
chmod 600 "$dir/named"
refused 'the shared keys differ: PSKFILE must hold the same line' 'the shared keys differ' --psk "$dir/other"
refused 'the shared keys differ: PSKFILE must hold the same line' 'the shared keys differ' --psk "$dir/key"
! grep -q -e "$(cut -d : -f 2 "$dir/other")" -e "$(cat "$dir/key")" "$dir/log" "$dir/pushed" || fail "a key is in a message"
chmod 640 "$dir/named"
"$server" -conf "$dir/conf" 2>"$dir/log" && fail "a receiver with a key that others may read"
logged 'conf:4: PSKFILE: .*run chmod 600' || fail "no line about it"
