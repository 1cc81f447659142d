#!/bin/sh
# SPDX-License-Identifier: MIT
# Reloads of a mount whose rules have PLUGIN: those that are as they were go on; one that is taken away reads what waits,
# gets the end of its input and ends; behind it begins another one of its TARGET: nothing is lost, comes twice, or in
# another order, while programs write. A file with a program that is not there changes nothing.
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
k2hft=$bin/k2hft
settings="K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no"
# marks TEXT: a command that puts it in front of each line.
marks() { echo "/usr/bin/awk '{ print \"$1: \" \$0; fflush() }'"; }
# rules_of COMMAND OUTPUT [LINES]: for the files of many, and of trans.
rules_of() {
	rules="[K2HFTFUSE_RULE]
TARGET = kept.log
DEFAULTALL = ALLOW
PLUGIN = /bin/cat
OUTPUTFILE = $work/kept.copy
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
PLUGIN = $1
OUTPUTFILE = $2
[K2HFTFUSE_RULE_DIR]
TARGET = trans
TRUNS = on
DEFAULTALL = ALLOW
${3-PLUGIN = $(marks sent)
PLUGINTRANS = yes}
[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW"
}
reloads() {
	sender_config
	quick "$k2hft" reload "$mnt" >"$work/said" 2>&1
}
worker_pid() { "$k2hft" stat --json "$mnt" | sed -n 's/^"pid": \([0-9]*\),$/\1/p' | head -n 1; }
kept_pid() { "$k2hft" stat --json "$mnt" | python3 -c 'import json, sys
print([one["pid"] for one in json.load(sys.stdin)["plugins"] if one["path"] == "kept.log"][0])'; }
rules_of "$(marks 0)" "$work/copies/"
start_receiver
start_mount

cat >"$work/write.py" <<'END'
import os, sys, time
file = open(sys.argv[1], "ab" if len(sys.argv) > 3 else "wb", buffering=0)
number = 0
while not os.path.exists(sys.argv[2]):
    file.write(b"%d %s\n" % (number, b"x" * (number * 37 % 900)))
    number += 1
    if number % 20 == 0:
        time.sleep(0.01)
print(number)
END
for file in kept.log many/direct many/append trans/t; do
	[ $file = kept.log ] || mkdir -p "$mnt/${file%/*}"
	# shellcheck disable=SC2046
	python3 "$work/write.py" "$mnt/$file" "$work/stop" $([ "${file#*app}" = "$file" ] || echo append) >"$work/${file##*/}.count" &
	writers="${writers:-} $!"
done
has() { [ -s "$1" ]; }
until_true 20 has "$work/copies/append" || fail "nothing is written"
until_true 20 arrived trans/t 100000 || fail "nothing arrives"
until_true 20 has "$work/kept.copy" || fail "kept.log is not read"
kept=$(kept_pid)
round=0
while [ $round -lt 8 ]; do
	round=$((round + 1))
	rules_of "$(marks $round)" "$work/copies$((round % 3))/"
	reloads || fail "round $round: $(cat "$work/said")"
	rules_of "/no/program" "$work/copies/"
	reloads && fail "a program that is not there"
	grep -q 'slave.ini:[0-9]*: .*/no/program' "$work/said" || fail "not said: $(cat "$work/said")"
done
# Its worker dies with lanes that are about to end.
rules_of "$(marks last)" "$work/copies/"
reloads || fail "$(cat "$work/said")"
[ "$(kept_pid)" = "$kept" ] || fail "the process of a rule that did not change was $kept, and is $(kept_pid)"
: >"$work/stop"
for writer in $writers; do
	wait "$writer" || fail "a writer ended with status $?"
done
made() {
	python3 -c 'import sys
for number in range(int(sys.argv[1])):
    sys.stdout.buffer.write(b"%s%d %s\n" % (sys.argv[2].encode(), number, b"x" * (number * 37 % 900)))' "$(cat "$work/$1.count")" "${2-}"
}
made kept.log >"$work/expected"
until_true 20 same "$work/expected" "$work/kept.copy" || fail "kept"
made t 'sent: ' >"$work/expected"
arrives "$work/expected" trans/t
for file in direct append; do
	made $file >"$work/expected"
	# Each round wrote behind the ones before.
	joined() {
		sort -n -s -t ' ' -k 2,2 "$work"/copies*/"$file" | sed 's/^[^ ]* //' | cmp -s - "$work/expected"
	}
	until_true 20 joined || fail "$file: $(cat "$work"/copies*/"$file" | wc -l) of $(wc -l <"$work/expected")"
	for copy in "$work"/copies*/"$file"; do
		sort -n -c -s -t ' ' -k 2,2 "$copy" || fail "the order in $copy"
	done
done
only_one() { [ "$(find "$work" -name 'ring.plugin-*' | wc -l)" = 3 ]; }
until_true 20 only_one || fail "rings are left: $(ls "$work")"

# A rule without it sends by itself; what it had before goes on, and so does one that comes back, also in another worker.
rules_of "/bin/cat" "$work/new/" ""
reloads || fail "$(cat "$work/said")"
quick sh -c "echo itself >>'$mnt/trans/u'" || fail "trans"
echo itself >"$work/expected"
arrives "$work/expected" trans/u
[ "$("$k2hft" stat --json "$mnt" | sed -n 's/^ *"worker_deaths": \([0-9]*\),*$/\1/p')" = 0 ] || fail "a worker ended"
kill -9 "$(worker_pid)"
quick sh -c "echo next >>'$mnt/many/u'" || fail "many"
rules_of "$(marks again)" "$work/new/"
reloads || fail "$(cat "$work/said")"
quick sh -c "echo after >>'$mnt/many/u'; echo after >>'$mnt/trans/u'" || fail "after"
printf 'next\nagain: after\n' >"$work/expected"
until_true 20 same "$work/expected" "$work/new/u" || fail "new/u: $(cat "$work/new/u")"
printf 'itself\nsent: after\n' >"$work/expected"
arrives "$work/expected" trans/u

# Killed as a whole while a former one hangs, and waits before another: the next mount has both rings.
printf '#!/bin/sh\nwhile [ -e %s ]; do sleep 0.05; done\n' "$work/keep" >"$work/hangs"
chmod +x "$work/hangs"
: >"$work/keep"
rules_of "$work/hangs" "$work/late/"
reloads || fail "$(cat "$work/said")"
quick sh -c "echo first >>'$mnt/many/v'" || fail "first"
rules_of "/bin/cat" "$work/late/"
reloads || fail "$(cat "$work/said")"
quick sh -c "echo second >>'$mnt/many/v'" || fail "second"
worker=$(worker_pid)
kill -9 $mount_pid
wait $mount_pid 2>/dev/null
until_true 20 gone "$worker" || fail "the worker of a killed keeper"
rm "$work/keep"
start_mount
printf 'first\nsecond\n' >"$work/expected"
until_true 20 same "$work/expected" "$work/late/v" || fail "late/v: $(cat "$work/late/v")"
stop_mount
