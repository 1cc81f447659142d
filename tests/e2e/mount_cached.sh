#!/bin/sh
# SPDX-License-Identifier: MIT
# Appends go through the page cache: they wait for nobody, they arrive although nobody closes the file, fsync waits for
# them, and a last line without its end comes when the last writer closes.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/returns.sh
start_receiver
start_mount
returns "$sent/appended" 'os.O_WRONLY | os.O_APPEND' || fail "an append waits for the worker"
returns "$sent/plain" os.O_WRONLY && fail "a write without O_APPEND goes through the cache"
returns "$sent/both" 'os.O_RDWR | os.O_APPEND' && fail "a descriptor that can read goes through the cache"

# It arrives although the file stays open and nobody closes a descriptor, as each program does that a shell has started.
quick python3 - "$sent/held" "$received/senddir/held" <<'END' || fail "it does not arrive while its file is open"
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(1, 101):
    os.write(file, b"line\n")
    while not os.path.exists(sys.argv[2]) or os.path.getsize(sys.argv[2]) != 5 * number:
        time.sleep(0.001)
END
exec 3>>"$sent/open"
printf 'a\n' >&3
printf 'a\n' >"$work/open"
arrives "$work/open" senddir/open
printf 'b\nhalf' >&3
printf 'a\nb\n' >"$work/open"
arrives "$work/open" senddir/open
[ "$(quick stat -c %s "$sent/open")" = 8 ] || fail "size: $(stat "$sent/open")"

# The last line without its end comes when the last of two writers closes.
exec 4>>"$sent/open"
exec 4>&-
printf ' a line\nno end' >&3
printf 'a\nb\nhalf a line\n' >"$work/open"
arrives "$work/open" senddir/open
exec 3>&-
printf 'a\nb\nhalf a line\nno end' >"$work/open"
arrives "$work/open" senddir/open

# Many writers of one file: each one's lines in order, none torn.
pids=
for writer in 1 2 3 4 5 6; do
	sh -c "for i in \$(seq 2000); do echo writer $writer line \$i; done >>'$sent/many'" &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "a writer failed"; done
quick sync "$sent/many" || fail sync
for writer in 1 2 3 4 5 6; do
	grep "^writer $writer " "$received/senddir/many" >"$work/got"
	seq -f "writer $writer line %.0f" 2000 | cmp - "$work/got" || fail "lines of writer $writer"
done
[ "$(wc -l <"$received/senddir/many")" = 12000 ] || fail "$(wc -l <"$received/senddir/many") lines of 12000"

# Ten bytes at a time, and in what is larger than a request.
seq 1 200000 >"$work/in"
head -c 300000 "$work/in" >"$work/small"
quick dd if="$work/small" of="$sent/small" bs=10 oflag=append conv=notrunc status=none || fail dd
arrives "$work/small" senddir/small
quick dd if="$work/in" of="$sent/large" bs=3M oflag=append conv=notrunc status=none || fail dd
arrives "$work/in" senddir/large

# O_DIRECT that is set later, as dd(1) does to its output, leads past the cache.
quick sh -c "echo first; exec dd if='$work/in' bs=64K oflag=direct status=none" >>"$sent/direct" || fail "dd to an O_APPEND output"
{ echo first; cat "$work/in"; } >"$work/direct"
arrives "$work/direct" senddir/direct

# A program that takes O_APPEND away, as xz does, and seeks behind the end leaves a hole: what follows it arrives, at once by fsync(2)
# or close(2), else when the kernel has written it back, also if the file is cut then; and so does what others append.
quick python3 - "$sent" "$received/senddir" <<'END' || fail "what follows a hole does not arrive"
import fcntl, os, sys, time
sent, received = sys.argv[1:]
def arrives(name, expected):
    while open(f"{received}/{name}", "rb").read() != expected:
        time.sleep(0.01)
for how in "closed", "synced", "open", "cut":
    other = os.open(f"{sent}/hole.{how}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    writer = os.open(f"{sent}/hole.{how}", os.O_WRONLY | os.O_APPEND)
    expected = b"." * 65535 + b"\n"
    os.write(writer, expected)
    os.fsync(writer)
    fcntl.fcntl(writer, fcntl.F_SETFL, 0)
    for hole in 1 << 20, 3 << 20:
        os.lseek(writer, hole, os.SEEK_SET)
        os.write(writer, b"behind\n" * 4096)
        expected += b"behind\n" * 4096
    os.write(other, b"appended\n")
    expected += b"appended\n"
    if how == "closed":
        os.close(writer)
        os.close(other)
    elif how == "synced":
        os.fsync(writer)
        assert open(f"{received}/hole.{how}", "rb").read() == expected
    else:
        os.posix_fadvise(writer, 0, 0, os.POSIX_FADV_DONTNEED)
    if how == "cut":
        os.truncate(f"{sent}/hole.cut", 0)
        os.fsync(writer)
    arrives(f"hole.{how}", expected)
    if how != "closed":
        os.write(other, b"later\n")
        arrives(f"hole.{how}", expected + b"later\n")
END

# A program that gathers what it writes, by what the file system says, has no more of it than elsewhere.
quick python3 - "$sent/gathered" "$received/senddir/gathered" <<'END' || fail "a program keeps its lines"
import os, sys, time
with open(sys.argv[1], "a") as file:
    file.writelines(f"line {number}\n" for number in range(5000))
    while not os.path.exists(sys.argv[2]) or os.path.getsize(sys.argv[2]) < 32768:
        time.sleep(0.01)
END

# A writer without O_APPEND beside one with: what was written first comes first, and nothing is overwritten.
exec 3>>"$sent/mixed"
for i in 1 2 3 4 5 6 7 8 9; do
	echo "cached $i" >&3
	echo "direct $i" | quick dd of="$sent/mixed" conv=notrunc status=none || fail dd
	printf 'cached %s\ndirect %s\n' $i $i
done >"$work/mixed"
exec 3>&-
arrives "$work/mixed" senddir/mixed
# And the other way round: the file stays direct while that writer has it.
exec 3>"$sent/reverse"
for i in 1 2 3 4 5 6 7 8 9; do
	echo "direct $i" >&3
	echo "append $i" >>"$sent/reverse" || fail append
	printf 'direct %s\nappend %s\n' $i $i
done >"$work/reverse"
exec 3>&-
arrives "$work/reverse" senddir/reverse
for i in 1 2 3; do
	echo "later $i" >>"$sent/reverse"
	echo "later $i" >>"$work/reverse"
done
arrives "$work/reverse" senddir/reverse

# SIGTERM takes what the cache has, also of files that are open, or were cut since they were written to.
exec 3>>"$sent/ending" 4>>"$sent/cut"
echo line >&4
quick truncate -s 0 "$sent/cut" || fail truncate
seq 1 5000 >&3
kill "$mount_pid"
wait_mount || fail "status $? of k2hftfuse"
exec 3>&- 4>&-
seq 1 5000 | cmp - "$received/senddir/ending" || fail "what was in the cache at SIGTERM"
