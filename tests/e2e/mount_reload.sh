#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that is reloaded 50 times with a good and 50 times with a broken file, while programs write both ways: nothing is lost
# or comes twice, no file is closed and no connection, the broken file is named with line. New lines go by the new rules.
# shellcheck source=tests/tools/mount.sh
. tests/tools/mount.sh
start_receiver
start_mount
k2hft=$bin/k2hft
# configured LINE...: in place of the rules
configured() {
	sed '/^\[K2HFTFUSE_RULE/,$d' "$work/slave.ini" >"$work/new.ini"
	printf '%s\n' "$@" >>"$work/new.ini"
	cp "$work/new.ini" "$work/slave.ini"
}
rule='[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = ALLOW'
reloads() { quick "$k2hft" reload "$mnt" >"$work/said" 2>&1; }
refused() {
	reloads
	[ $? = 1 ] || fail "a reload that has to fail: $(cat "$work/said")"
	grep -q "$1" "$work/said" || fail "not said: $1: $(cat "$work/said")"
}
counted() { "$k2hft" stat --json "$mnt" | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" | head -n 1; }

cat >"$work/write.py" <<'END'
import os, sys, time
flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if sys.argv[2] == "append" else 0)
file = os.open(sys.argv[1], flags)
number = 0
while not os.path.exists(sys.argv[3]) or number % 100:
    os.write(file, b"%d %s\n" % (number, b"x" * (number * 37 % 900)))
    number += 1
    if number % 20 == 0:
        time.sleep(0.004)
os.close(file)
print(number)
END
for way in append direct; do
	python3 "$work/write.py" "$sent/$way" $way "$work/stop" >"$work/$way.count" &
	writers="${writers:-} $!"
done
arrived() { [ -s "$received/senddir/append" ] && [ -s "$received/senddir/direct" ]; }
until_true 20 arrived || fail "nothing arrives"
connects=$(counted connects)
round=0
while [ $round -lt 50 ]; do
	round=$((round + 1))
	configured "$rule" "DENY = never$round" '[K2HFTFUSE_RULE]' "TARGET = other$round" 'TRUNS = on' 'DEFAULTALL = ALLOW'
	reloads || fail "round $round: $(cat "$work/said")"
	[ -e "$mnt/other$round" ] || fail "the file of a new rule is not there"
	configured "$rule" 'TRUNS = perhaps'
	refused "slave.ini:[0-9]*: TRUNS"
done
[ "$(counted connects)" = "$connects" ] || fail "a connection was closed"
[ "$(counted worker_deaths)" = 0 ] || fail "a worker ended"
: >"$work/stop"
for writer in $writers; do
	wait "$writer" || fail "a writer ended with status $?"
done
quick sync "$sent/append" "$sent/direct" || fail "sync"
for way in append direct; do
	python3 -c 'import sys
for number in range(int(sys.argv[1])):
    sys.stdout.buffer.write(b"%d %s\n" % (number, b"x" * (number * 37 % 900)))' "$(cat "$work/$way.count")" >"$work/expected"
	cmp "$work/expected" "$received/senddir/$way" || fail "$way"
done

# The rules of a file that stays open: not before the end of its line, and from the next on.
mkfifo "$work/pipe"
# shellcheck disable=SC2016 # that shell's
quick sh -c 'exec cat >"$1"' sh "$sent/open" <"$work/pipe" &
writer=$!
exec 3>"$work/pipe"
printf 'one\ntw' >&3
has() { [ "$(cat "$received/senddir/$1" 2>/dev/null)" = "$2" ]; }
until_true 20 has open one || fail "one"
configured "$rule" 'DENY = secret'
reloads || fail "$(cat "$work/said")"
printf 'o secret\nthree\nsecret\nfour\n' >&3
until_true 20 has open "one
three
four" || fail "DENY: $(cat "$received/senddir/open")"
configured '[K2HFTFUSE_RULE_DIR]' 'TARGET = senddir' 'DEFAULTALL = ALLOW'
reloads || fail "$(cat "$work/said")"
printf 'unsent\n' >&3
quick sync "$sent/open"
configured '[K2HFTFUSE_RULE_DIR]' 'TARGET = elsewhere' 'TRUNS = on' 'DEFAULTALL = ALLOW'
refused 'senddir/open is open for writing, and no rule covers it'
configured "$rule" "OUTPUTFILE = $work/copy/"
reloads || fail "$(cat "$work/said")"
printf 'five\n' >&3
until_true 20 has open "one
three
four
five" || fail "TRUNS again: $(cat "$received/senddir/open")"
[ "$(cat "$work/copy/open")" = five ] || fail "OUTPUTFILE: $(cat "$work/copy/open")"

# A key that needs a restart keeps the others from changing.
sed -i 's/^\[K2HFTFUSE\]$/&\nRINGSIZE = 1M\nBYTELIMIT = 3/' "$work/slave.ini"
refused 'slave.ini:[0-9]*: RINGSIZE changed, which needs a restart'
sed -i '/^RINGSIZE = 1M/d' "$work/slave.ini"
quick kill -9 "$("$k2hft" stat --json "$mnt" | sed -n 's/^"pid": \([0-9]*\),$/\1/p')"
printf 'six but longer than three bytes\n' >&3
until_true 20 has open "one
three
four
five
six but longer than three bytes" || fail "the next worker: $(cat "$received/senddir/open")"
reloads || fail "$(cat "$work/said")"
printf 'too long\n7\n' >&3
until_true 20 has open "one
three
four
five
six but longer than three bytes
7" || fail "BYTELIMIT: $(cat "$received/senddir/open")"
exec 3>&-
wait $writer || fail "the writer"
stop_mount
