#!/bin/sh
# SPDX-License-Identifier: MIT
# On a host without IPv6 the receiver tells its state at 127.0.0.1, and says only that.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
cat >"$dir/without" <<'END'
#!/bin/sh
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && exec "$@"
END
chmod +x "$dir/without"
if ! unshare -n "$dir/without" true 2>/dev/null; then
	skip "unshare not permitted, or no IPv6 to be switched off"
fi
booted="unshare -n $dir/without"
receiver_config '[SVRNODE]' 'NAME = localhost' 'CTLPORT = 8021'
receiver_start
logged 'status: answering HTTP on 127\.0\.0\.1:8021' || fail "no word of the address"
! logged 'status: answering HTTP on \[::1\]' || fail "it says ::1"
receiver_stop TERM
