#!/bin/sh
# SPDX-License-Identifier: MIT
# push -c takes the receiver from a file that has nothing but nodes, as a slave of CHMPX had it, and from one that names
# such a file by K2HTPDTOR_CHMPXCONF.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
mkdir "$dir/conf.d"
cat >"$dir/conf.d/nodes.ini" <<END
[GLOBAL]
MODE = SLAVE
PORT = $port
CTLPORT = 8032
SELFCTLPORT = 8032
[SVRNODE]
NAME = 127.0.0.1
[SLVNODE]
NAME = [.]*
CTLPORT = 8032
[K2HTPDTOR]
K2HTPDTOR_BROADCAST = no
END
cat >"$dir/split.ini" <<END
[GLOBAL]
PORT = 1
[SVRNODE]
NAME = 192.0.2.1
[K2HTPDTOR]
K2HTPDTOR_CHMPXCONF = conf.d/nodes.ini
[K2HFTFUSE]
K2HTYPE = TEMP
K2HFILE = $dir/ring
K2HINIT = no
END
for file in conf.d/nodes split; do
	echo "by $file" | "${B:-build}/bin/k2hft" push -q --timeout 20 -c "$dir/$file.ini" -t "$file" || fail "$file"
	[ "$(cat "$dir/out/$file")" = "by $file" ] || fail "$file: $(cat "$dir/out/$file")"
	"${B:-build}/bin/k2hft" check "$dir/$file.ini" >"$dir/said" || fail "check: $(cat "$dir/said")"
done
[ ! -e "$dir/ring" ] || fail "a temporary ring has a name"
