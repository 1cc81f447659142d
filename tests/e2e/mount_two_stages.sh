#!/bin/sh
# SPDX-License-Identifier: MIT
# K2HFTFUSE's two stages: a mount whose rules filter, rewrite and have a PLUGIN, a receiver with TYPE = both that writes one
# file and sends on what TRANSCONF says, and another receiver behind it. Both files have the same records and origins.
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
mkdir "$work/last"
cat >"$work/last.ini" <<END
[GLOBAL]
PORT = 8020
SSL = no
[K2HFTFUSESVR]
TYPE = file
FILE_BASEDIR = $work/last
FILE_UNIFY = log/all.log
FILE_TIMEFORM = "%s.%-"
FORMAT = "%H:%F(%P)[%T] %L"
END
"$bin/k2hftfusesvr" -conf "$work/last.ini" --listen 127.0.0.1:0 2>"$work/last.err" &
last_pid=$!
trap 'code=$?; kill -9 $last_pid 2>/dev/null; clean' EXIT
last_listens() { last_port=$(sed -n 's/.*listening on 127\.0\.0\.1://p' "$work/last.err") && [ -n "$last_port" ]; }
until_true 20 last_listens || fail "the last receiver"
cat >"$work/next.ini" <<END
[GLOBAL]
MODE = SLAVE
PORT = $last_port
SSL = no
[SVRNODE]
NAME = localhost
[SLVNODE]
NAME = [.]*
CTLPORT = 8032
[K2HTPDTOR]
K2HTPDTOR_BROADCAST = no
END
receiver_config() {
	cat >"$work/server.ini" <<END
[GLOBAL]
MODE = SERVER
PORT = $port
SSL = no
[SVRNODE]
NAME = localhost
[SLVNODE]
NAME = [.]*
CTLPORT = 8022
[K2HFTFUSESVR]
TYPE = both
LISTEN = 127.0.0.1
TRANSCONF = next.ini
K2HTYPE = mem
FILE_BASEDIR = $received
FILE_UNIFY = log/all.log
FILE_TIMEFORM = "%s.%-"
FORMAT = "%H:%F(%P)[%T] %L"
END
}
rules="[K2HFTFUSE_RULE_DIR]
TARGET = any/log
TRUNS = on
OUTPUTFILE = $work/copies/
DEFAULTALL = DENY
ALLOW = INFO
ALLOW = \"(.*)([eE][rR][rR])(.*)\", \"\$1 = ERROR = \$3\"
[K2HFTFUSE_RULE]
TARGET = log/error.log
TRUNS = off
OUTPUTFILE = log/passed.log
DEFAULTALL = DENY
ALLOW = \"(.*)([wW][aA][rR][nN])(.*)\"
[K2HFTFUSE_RULE]
TARGET = log/passed.log
TRUNS = on
DEFAULTALL = ALLOW
[K2HFTFUSE_RULE]
TARGET = log/plugged.log
TRUNS = on
OUTPUTFILE = $work/plugged.copy
PLUGIN = /bin/cat
DEFAULTALL = ALLOW"
start_receiver
start_mount
quick sh -c "printf 'INFO one\nnothing\nan err here\n' >>'$mnt/any/log/a.log'; printf 'no\na Warn\n' >>'$mnt/log/error.log'
	printf 'p1\np2\n' >'$mnt/log/plugged.log'" || fail "write"
stop_mount || fail "status $? of k2hftfuse"
cat >"$work/expected" <<'END'
any/log/a.log INFO one
any/log/a.log an  = ERROR =  here
log/passed.log a Warn
log/plugged.log p1
log/plugged.log p2
END
# The host that sends, the pid of a process, and the time at which it wrote are in front, in both files alike.
pattern="^$(uname -n):\([^(]*\)([1-9][0-9]*)\[[1-9][0-9]*\.[0-9]*\] \(.*\)"
records() { sed -n "s/$pattern/\1 \2/p" "$1" 2>/dev/null | sort -s -k 1,1 | cmp -s - "$work/expected"; }
until_true 20 records "$received/log/all.log" || fail "the first: $(cat "$received/log/all.log")"
until_true 20 records "$work/last/log/all.log" || fail "the last: $(cat "$work/last/log/all.log")"
sort "$received/log/all.log" >"$work/first"
sort "$work/last/log/all.log" | cmp - "$work/first" || fail "another origin"
printf 'p1\np2\n' | cmp - "$work/plugged.copy" || fail "the plug-in"
printf 'INFO one\nan  = ERROR =  here\n' | cmp - "$work/copies/a.log" || fail "the copy"
stop_receiver
kill $last_pid
wait $last_pid || fail "status $? of the last receiver"
