#!/bin/sh
# SPDX-License-Identifier: MIT
# A start logs the errors and warnings that k2hft check prints, word for word, and how many keys have no effect.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft=${B:-build}/bin/k2hft
# PROGRAM ARGUMENT...: all that check finds in $dir/conf stands in $dir/log.
same() {
	"$k2hft" check "$dir/conf" | sed -n 's/: \(error\|warning\): /: /p' >"$dir/wanted"
	[ "$(wc -l <"$dir/wanted")" = "$1" ] || fail "$1 findings: $(cat "$dir/wanted")"
	while IFS= read -r line; do
		grep -qF ": $line" "$dir/log" || fail "not logged: $line"
	done <"$dir/wanted"
}
receiver_config 'FORMAT = "%T"' '[GLOBAL]' 'MQACK = no' 'MQTHREADCNT = 1' '[SLVNODE]' 'NAME = .*'
receiver_start
same 4
logged 'conf: 2 keys or sections have no effect: k2hft check lists them' || fail "no number"

# SIGHUP: what needs a restart is named, and keeps all else from changing.
sed -i -e 's/^FORMAT.*/FORMAT = %L/' -e 's/^SOCKTHREADCNT.*/SOCKTHREADCNT = 3/' -e 's/^NAME.*/NAME = 127.0.0.0\/8/' "$dir/conf"
: >"$dir/log"
kill -HUP "$pid"
wait_until logged 'receiver: not reloaded, nothing has changed: .*conf:3: SOCKTHREADCNT changed, which needs a restart'
logged 'may make new connections' && fail "some of it has changed"
receiver_stop TERM

printf '%s\n' '[GLOBAL]' 'PORT = 1' '[SVRNODE]' 'NAME = a' '[K2HFTFUSE]' 'LINEMAX = x' 'EXPIRE = y' \
	'[K2HFTFUSE_RULE]' 'TARGET = a' 'ALLOW = "\<a"' >"$dir/conf"
mkdir "$dir/mnt"
"${B:-build}/bin/k2hftfuse" "$dir/mnt" -f -o "conf=$dir/conf" 2>"$dir/log"
[ $? = 2 ] || fail "status of k2hftfuse"
same 3
