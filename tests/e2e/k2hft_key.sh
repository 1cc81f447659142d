#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft key makes a key that both sides take, for its owner only, and writes over none.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
k2hft=${B:-build}/bin/k2hft

umask 022
"$k2hft" key -o "$dir/key" || fail "status $?"
[ "$(stat -c %a "$dir/key")" = 600 ] || fail "its mode"
grep -qxE '[0-9a-f]{64}' "$dir/key" || fail "its form"
"$k2hft" key logs | grep -qxE 'logs:[0-9a-f]{64}' || fail "with an identity"
[ "$("$k2hft" key)" != "$("$k2hft" key)" ] || fail "the same key twice"
"$k2hft" key -o "$dir/key" 2>"$dir/said"
[ $? = 1 ] || fail "a key is written over"
grep -q 'File exists' "$dir/said" || fail "$(cat "$dir/said")"
for wrong in '' 'a b' 'a:b' "$(printf '%065d' 1)"; do
	"$k2hft" key "$wrong" 2>/dev/null
	[ $? = 2 ] || fail "identity '$wrong'"
done
"$k2hft" key >/dev/full 2>"$dir/said"
[ $? = 1 ] || fail "a full disk"

tls_config "PSKFILE = $dir/key"
receiver_start
echo record >"$dir/in"
push --psk "$dir/key" -t log "$dir/in" || fail "push: $(cat "$dir/pushed")"
cmp "$dir/in" "$dir/out/log" || fail "what arrived"
