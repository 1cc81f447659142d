#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is open and that nobody appends to is left alone, also if somebody looks at it; the kernel announces the next
# append, by whatever call it is made and whatever became of the file or of the worker meanwhile, and each line arrives.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/values.sh
start_receiver
start_mount
: >"$work/log"

# append COMMAND...: it writes a line to descriptor 3.
append() {
	count=$((count + 1))
	echo "line $count" >>"$work/log"
	echo "line $count" | "$@" >&3 || fail "$*"
	arrives "$work/log" senddir/log
}
count=0

# announced COMMAND...: the kernel announces an append that is made so. Where the file was not left alone yet, as on a
# machine that is busy with other things, another try has a longer pause.
announced() {
	before=$(value mount.announced_appends)
	for pause in 0.5 1 2 4 8 16; do
		sleep $pause
		${meanwhile:-:} || fail "$meanwhile"
		append "$@"
		[ "$(value mount.announced_appends)" = "$before" ] || return 0
	done
	fail "an append after a pause is not announced: $* ${meanwhile:-}"
}

exec 3>>"$sent/log"
append cat
announced cat

# Also sooner than the kernel would ask for attributes anyway, which is a second after it had them: of five lines each one,
# but for the first. They arrive while nobody closes a descriptor, as each program does that a shell has started: the
# kernel hands over what it has then. (A machine that is busy with other things needs longer than these pauses until a file is left alone.)
tries=8
while [ $tries -gt 0 ]; do
	tries=$((tries - 1))
	before=$(value mount.announced_appends)
	quick python3 - "$sent/log" "$received/senddir/log" $count >>"$work/log" <<'END' || fail "five lines"
import os, sys, time
file, first, bytes = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), int(sys.argv[3]) + 1, os.path.getsize(sys.argv[2])
for number in range(first, first + 5):
    bytes += os.write(file, b"line %d\n" % number)
    print("line", number)
    time.sleep(0.6)
    while os.path.getsize(sys.argv[2]) != bytes:
        time.sleep(0.01)
END
	count=$((count + 5))
	arrives "$work/log" senddir/log
	told=$(($(value mount.announced_appends) - before))
	[ "$told" -lt 4 ] || break
done
[ "$told" -ge 4 ] || fail "$told of five lines were announced"

# It is asked about once a second, not every 5 ms, as soon as it is left alone.
rarely_asked() {
	began=$(date +%s)
	before=$(value mount.cache_questions)
	sleep 5
	asked=$(($(value mount.cache_questions) - before))
	[ "$asked" -le $(($(date +%s) - began + 2)) ]
}
sleep 2
rarely_asked || rarely_asked || fail "$asked questions about a file that nobody appends to"
append cat

# A process that asks for its attributes gets them, and the kernel keeps none.
size_is_right() {
	[ "$(quick stat -c %s "$sent/log")" = "$(stat -c %s "$work/log")" ] && quick ls -l "$sent" >/dev/null
}
meanwhile=size_is_right
announced cat
changes_mode() {
	quick chmod 640 "$sent/log" && quick touch "$sent/log"
}
meanwhile=changes_mode
announced cat
opened_by_another() {
	quick sh -c ": >>'$sent/log'" && sleep 2
}
meanwhile=opened_by_another
announced cat
meanwhile=

# The other calls that write.
cat >"$work/copy.py" <<'END_OF_COPY'
import os, sys
data = sys.stdin.buffer.read()
if sys.argv[1] == "writev":
    assert os.writev(1, [data[:2], data[2:]]) == len(data)
else:
    assert os.pwrite(1, data, 0) == len(data)
END_OF_COPY
for call in writev pwrite; do
	announced python3 "$work/copy.py" "$call"
done

# Cut by another, and renamed, it is the same file.
cut_to_nothing() {
	quick truncate -s 0 "$sent/log"
}
meanwhile=cut_to_nothing
announced cat
meanwhile=
quick mv "$sent/log" "$sent/log.1" || fail mv
announced cat
quick rm "$sent/log.1" || fail rm
announced cat

# The worker dies while it is left alone: the next one has it asked about, and leaves it alone in turn.
sleep 1
worker_of "$mount_pid" && kill -9 "$worker"
append cat
announced cat
# And while an append waits for it.
sleep 1
worker_of "$mount_pid"
quick python3 - "$sent/waits" "$worker" <<'END' || fail "the writer whose worker died"
import os, signal, sys, threading, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(3):
    os.write(file, b"line %d\n" % number)
    time.sleep(1)
os.kill(int(sys.argv[2]), signal.SIGSTOP)
writer = threading.Thread(target=os.write, args=(file, b"line 3\n"))
writer.start()
time.sleep(0.3)
os.kill(int(sys.argv[2]), signal.SIGKILL)
writer.join()
END
seq -f 'line %.0f' 0 3 >"$work/waits"
arrives "$work/waits" senddir/waits

# Many files: one is written to, the others stay alone; then all are.
quick python3 - "$sent" "$received/senddir" <<'END' || fail "many files"
import os, sys, time
files = [os.open(f"{sys.argv[1]}/many{n}", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for n in range(50)]
for round in range(4):
    for file in files if round % 2 else files[:1]:
        os.write(file, b"round %d\n" % round)
    time.sleep(1)
def arrived(name):
    return os.path.exists(name) and os.path.getsize(name)
while any(arrived(f"{sys.argv[2]}/many{n}") != (16 if n else 32) for n in range(50)):
    time.sleep(0.01)
END
printf 'round 1\nround 3\n' >"$work/many"
for number in 1 7 49; do
	arrives "$work/many" senddir/many$number
done
printf 'round 0\nround 1\nround 2\nround 3\n' >"$work/many"
arrives "$work/many" senddir/many0

# The mount ends with a file that is left alone, and nothing of it is missing.
sleep 1
count=$((count + 1))
echo "line $count" | tee -a "$work/log" >&3
kill "$mount_pid"
wait_mount || fail "status $? of k2hftfuse"
exec 3>&-
arrives "$work/log" senddir/log
