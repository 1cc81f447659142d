#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in that hangs holds the files of its own rule only, not the mount, nor other streams; one that is killed is
# followed by another. When it goes on, all is there, once and in order.
. tests/tools/mount.sh
cat >"$work/hangs" <<END
#!/bin/sh
while [ -e "$work/keep" ]; do
	/bin/sleep 0.05
done
exec /bin/cat
END
chmod +x "$work/hangs"
: >"$work/keep"
settings='RINGSIZE = 4M'
rules="[K2HFTFUSE_RULE]
TARGET = kept.log
DEFAULTALL = ALLOW
PLUGIN = $work/hangs
OUTPUTFILE = $work/kept.copy
[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW"
start_receiver
start_mount
awk 'BEGIN { for (i = 1; i <= 400000; i++) print "line " i " of many" }' >"$work/in"
cat "$work/in" >"$mnt/kept.log" &
writer=$!
quick cp "$work/in" "$sent/free" || fail "a file of another rule"
arrives "$work/in" senddir/free
# state EXPRESSION: of what k2hft stat has as `stat`.
state() { quick "$bin/k2hft" stat --json "$mnt" | python3 -c "import json, sys; stat = json.load(sys.stdin); print(int($1))"; }
counted() { [ "$(state "stat['mount']['$1']")" -gt "$2" ]; }
until_true 20 counted plugin_waiting_seconds 0 || fail "nothing waits"
says() { quick "$bin/k2hft" stat "$mnt" | head -n 1 | grep -q "$1"; }
until_true 20 says 'bytes wait for the plug-in of kept.log for [0-9]* s: process [0-9]* does not read them' ||
	fail "the verdict: $("$bin/k2hft" stat "$mnt" | head -n 1)"
[ ! -s "$work/kept.copy" ] || fail "it does not hang"
kill -9 "$(state "stat['plugins'][0]['pid']")" || fail "its process"
until_true 20 counted plugin_deaths 0 || fail "no death"
rm "$work/keep"
wait "$writer" || fail "the writer"
until_true 30 same "$work/in" "$work/kept.copy" || fail "what hung: $(wc -c <"$work/kept.copy")"
stop_mount
cmp "$work/in" "$work/kept.copy" || fail "at the end"
