#!/bin/sh
# SPDX-License-Identifier: MIT
# make test needs no root: units that ask the system for something pass as nobody, too.
set -eu
[ "$(id -u)" = 0 ] || {
	echo "SKIP: all tests run as a user already"
	exit 77
}
command -v setpriv >/dev/null || {
	echo "SKIP: no setpriv"
	exit 77
}
room=$(mktemp -d /tmp/k2hft-nobody.XXXXXX)
trap 'rm -rf "$room"' EXIT
grep -rlE 'geteuid|setuid|chown\(' --include='test_*.c' tests/unit | sed 's|.*/||; s|\.c$||' >"$room/names"
[ -s "$room/names" ] || exit 1
sed "s|^|${B:-build}/tests/|" "$room/names" | xargs cp -t "$room"
chown 65534:65534 "$room"
cd "$room"
status=0
while read -r name; do
	setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$room" HOME="$room" timeout 100 "./$name" >"$name.log" 2>&1 </dev/null || {
		grep -A3 -e ERROR -e FAILED "$name.log" || tail -n 3 "$name.log"
		echo "$name"
		status=1
	}
done <names
exit $status
