#!/bin/sh
# SPDX-License-Identifier: MIT
# Names that others replace or remove all the time can be opened all the same, as on any file system: by whoever looks one up
# the file is opened that had it then, and what he writes goes to its stream.
. tests/tools/mount.sh
start_receiver
start_mount
cat >"$work/storm.py" <<'END'
import os, sys, time
directory, other = sys.argv[1], sys.argv[2]
os.chdir(directory)
end = time.monotonic() + 3

def replace(me):
    os.close(os.open(f"{me}", os.O_CREAT | os.O_WRONLY))
    os.rename(f"{me}", "replaced")

def remove(me):
    try:
        os.unlink("made")
    except FileNotFoundError:
        pass

def read(me):
    os.close(os.open("replaced", os.O_RDONLY))

def append(me):
    out = os.open("made", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    line = f"{me} {len(lines)}\n"
    os.write(out, line.encode())
    os.close(out)
    lines.append(line)

replace("begin")
jobs = (replace, replace, read, read, remove, append, append)
children = []
for me, job in enumerate(jobs):
    children.append(os.fork())
    if children[-1] == 0:
        lines = []
        try:
            while time.monotonic() < end:
                job(me)
        except OSError as error:
            print(f"{job.__name__}: {error}", flush=True)
            os._exit(1)
        with open(f"{other}/accepted.{me}", "w") as out:
            out.writelines(lines)
        os._exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
END
quick python3 "$work/storm.py" "$sent" "$work" || fail "a name that is there at all times"
stop_mount || fail "status $? of k2hftfuse"
sort "$work"/accepted.* >"$work/accepted"
sort "$received/senddir/made" | cmp "$work/accepted" - || fail "what arrived"
[ "$(wc -l <"$work/accepted")" -gt 100 ] || fail "$(wc -l <"$work/accepted") lines are too few to tell"
