#!/bin/sh
# SPDX-License-Identifier: MIT
# RELOAD = auto: a mount reloads when its file, or one that it includes, is written or replaced; a broken one is said once.
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
settings="RELOAD = auto
INCLUDE = $work/rules.ini"
all_rules() { printf '[K2HFTFUSE_RULE]\nTARGET = %s\nTRUNS = on\nDEFAULTALL = ALLOW\n' "$@"; }
all_rules first >"$work/rules.ini"
start_receiver
start_mount
all_rules second >>"$work/rules.ini"
until_true 20 [ -e "$mnt/second" ] || fail "an included file that is written"
all_rules third | cat "$work/rules.ini" - >"$work/rules.new"
mv "$work/rules.new" "$work/rules.ini"
until_true 20 [ -e "$mnt/third" ] || fail "an included file that is replaced"
echo 'TRUNS = perhaps' >>"$work/rules.ini"
failed() { grep -q 'not reloaded, nothing has changed: .*rules.ini:[0-9]*: TRUNS' "$work/mount.err"; }
until_true 20 failed || fail "a broken file"
sleep 3
[ "$(grep -c 'not reloaded' "$work/mount.err")" = 1 ] || fail "it is tried again and again"
{
	all_rules fourth
	echo "# $(date)"
} >"$work/rules.ini"
until_true 20 [ -e "$mnt/fourth" ] || fail "a file that was mended"
stop_mount
