#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that uses OpenSSL itself can end while a sender is at work with TLS.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
(umask 077 && openssl rand -hex 32 >"$dir/key")
tls_config "PSKFILE = $dir/key"
receiver_start
"${B:-build}/tests/tools/tls_ends" "$port" "$dir/key" || fail "status $?"
printf 'in time\nin time\nat last\n' | cmp - "$dir/out/ends" || fail "it differs"
again=$(sed -n 's/.* connected, ring \([^ ]*\) .*/\1/p' "$dir/log" | sort | uniq -d)
[ -z "$again" ] || fail "a child has ended a connection"
receiver_stop TERM
