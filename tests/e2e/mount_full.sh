#!/bin/sh
# SPDX-License-Identifier: MIT
# A full ring blocks writers and nothing else; a blocked writer can be killed; what was accepted arrives.
. tests/tools/mount.sh
settings='RINGSIZE = 1M'
start_receiver
stop_receiver
fixed_port=yes
start_mount
seq 1 1000000 >"$work/in"
cat "$work/in" >"$sent/blocked" &
writer=$!
# By df: the size of the file changes when its writer's write(2) returns.
until_true 20 ring_full 130 || fail "the ring does not fill"
gone $writer && fail "the writer is not blocked"
# Everything else goes on.
quick ls "$sent" >/dev/null || fail ls
quick mkdir "$sent/dir" || fail mkdir
quick mv "$sent/dir" "$sent/other" || fail mv
quick sh -c ": >'$sent/empty'" || fail "an empty file"
quick stat -f "$mnt" >/dev/null || fail statfs
# The output is open, then.
runs() { [ "$(cat "/proc/$2/comm")" = "$1" ]; }
# A second writer blocks too, and ends when it is killed, with nothing of it taken.
sh -c "exec echo second >'$sent/second'" &
second=$!
until_true 20 runs echo $second || fail "no echo"
comes_to_wait $second
gone $second && fail "the second writer is not blocked"
kill -9 $second
wait $second 2>/dev/null
[ "$(quick stat -c %s "$sent/second")" = 0 ] || fail "the second writer's line was taken"
# SIGINT, which is not ignored as in the background of a script, ends one just so.
python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp("cat", ["cat"])' <"$work/in" \
	>"$sent/fourth" &
fourth=$!
until_true 20 runs cat $fourth || fail "no cat"
comes_to_wait $fourth
kill -INT $fourth
until_true 20 ended $fourth || fail "SIGINT does not end a blocked writer"
wait $fourth 2>/dev/null
# So ends one whose output has got O_DIRECT, although the file was opened for the page cache.
sh -c "exec dd if='$work/in' bs=4096 count=1 oflag=direct status=none >>'$sent/fifth'" &
fifth=$!
until_true 20 runs dd $fifth || fail "no dd"
comes_to_wait $fifth
gone $fifth && fail "a writer past the page cache is not blocked"
kill -9 $fifth
until_true 20 ended $fifth || fail "SIGKILL does not end a blocked writer past the page cache"
wait $fifth 2>/dev/null
# So does one that a signal handler interrupts: EINTR, nothing taken.
quick python3 tests/tools/interrupted_write.py "$sent/third" || fail "an interrupted writer"
# The kernel lets nobody rename the file of a blocked writer, nor list its directory then, but that ends with the wait.
mv "$sent/blocked" "$sent/renamed" &
renames=$!
sleep 0.2
start_receiver
wait $writer || fail "status $? of the blocked writer"
wait $renames || fail "status $? of who renames its file"
quick ls "$sent/renamed" >/dev/null || fail "the file is not renamed"
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/in" "$received/senddir/blocked" || fail "what was blocked did not arrive as written"
[ ! -e "$received/senddir/second" ] || fail "the killed writer's line arrived"
[ ! -e "$received/senddir/third" ] || fail "the interrupted writer's line arrived"

# Data that is appended through the page cache waits beside the ring, and its file is closed meanwhile: so ends its last line.
stop_receiver
settings='RINGSIZE = 256K'
start_mount
{
	seq 1 100000
	printf 'no end'
} >"$work/lines"
quick sh -c "cat '$work/lines' >>'$sent/appended'" || fail "a writer who appends"
start_receiver
stop_mount || fail "status $? of k2hftfuse"
cmp "$work/lines" "$received/senddir/appended" || fail "what was appended did not arrive as written"

# A log whose appender waits is rotated; that one goes on where it was.
stop_receiver
start_mount
python3 tests/tools/append_without_end.py "$sent/app.log" "$work/much" &
writer=$!
comes_to_wait $writer
gone $writer && fail "who appends much is not blocked"
quick sh -c "mv '$sent/app.log' '$sent/app.log.1' && truncate -s 0 '$sent/app.log.1'" || fail "the log is not rotated"
sh -c "echo new >>'$sent/app.log'" &
next=$!
accepted=$(wc -c <"$work/much")
start_receiver
wait $next || fail "status $? of who appends next"
goes_on() { [ "$(wc -c <"$work/much")" -gt $((accepted + 1000000)) ]; }
until_true 20 goes_on || fail "who appends much does not go on"
kill -9 $writer
wait $writer 2>/dev/null
stop_mount || fail "status $? of k2hftfuse"
grep -vx new "$received/senddir/app.log" | head -c "$(wc -c <"$work/much")" | cmp - "$work/much" ||
	fail "what was rotated did not arrive as written"
[ "$(grep -cx new "$received/senddir/app.log")" = 1 ] || fail "what came after the rotation"

# With RINGFULL = drop writers go on, and what is lost is counted.
stop_receiver
settings='RINGSIZE = 1M
RINGFULL = drop
DRAINTIMEOUT = 60'
start_mount
quick cp "$work/in" "$sent/dropped" || fail "a writer with RINGFULL = drop"
grep -q 'ring is full: .* records were dropped' "$work/mount.err" || fail "no word about dropped records"
start_receiver
stop_mount || fail "status $? of k2hftfuse"
# Whole lines only, all of them from the file, in order.
awk 'NR > 1 && $1 <= last || $1 !~ /^[0-9]+$/ { exit 1 } { last = $1 }' "$received/senddir/dropped" ||
	fail "a line is broken or out of order"
lines=$(wc -l <"$received/senddir/dropped")
[ "$lines" -gt 1000 ] || fail "only $lines lines arrived"
[ "$lines" -lt 1000000 ] || fail "nothing was dropped"
dropped=$(sed -n 's/.*: \([0-9]*\) records were dropped since the ring was made.*/\1/p' "$work/mount.err")
[ $((lines + ${dropped:-0})) -ge 1000000 ] || fail "$lines lines arrived, ${dropped:-no} dropped ones are reported"
