#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# For tests of what a mount counts, which source this after mount.sh: values of $stat, its .k2hft-stat.

command -v python3 >/dev/null || skip "no python3"
stat=$mnt/.k2hft-stat

# value NAME: what .k2hft-stat says, "a.b" for b of a
value() {
	quick cat "$stat" | python3 -c '
import json, sys
value = json.load(sys.stdin)
for part in sys.argv[1].split("."):
    value = value[part]
print(value)' "$1"
}

is() {
	[ "$(value "$1")" = "$2" ]
}

becomes() {
	until_true 30 is "$1" "$2" || fail "$1 is $(value "$1"), not $2"
}
