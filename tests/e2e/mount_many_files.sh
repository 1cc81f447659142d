#!/bin/sh
# SPDX-License-Identifier: MIT
# More files than a sender has streams, each closed when it is written, while the receiver is away: who opens the next one
# waits, and nothing else does, until what was closed is acknowledged; a signal ends the wait, and a worker's death does not.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/values.sh
start_receiver
fixed_port=yes
start_mount
quick mkdir "$sent/many" "$sent/other" || fail mkdir
stop_receiver
# Files that nobody writes to do not wait.
echo one >"$sent/one" || fail "one line"
# shellcheck disable=SC2016
quick python3 -c 'import sys
for number in range(4500):
    open(f"{sys.argv[1]}/empty{number}", "w").close()' "$sent" || fail "many files without anything in them"
cat >"$work/make.py" <<'END'
import sys
for number in range(4500):
    with open(f"{sys.argv[1]}/{number}", sys.argv[2]) as file:
        file.write(f"{number}\n")
END
python3 "$work/make.py" "$sent/many" a &
makes=$!
becomes ring.unacked_records 4096
touch "$sent/other/made" 2>"$work/out" &
killed=$!
worker_of "$mount_pid" || fail "no worker"
kill -9 "$worker"
becomes mount.worker_deaths 1
comes_to_wait $killed
quick ls "$sent" >/dev/null || fail "ls while an open waits"
gone $makes && fail "an open does not wait for a number"
gone $killed && fail "an open does not wait for a number"
kill $killed
until_true 20 gone $killed || fail "an open cannot be interrupted"
start_receiver
wait $makes || fail "an open failed"
quick python3 "$work/make.py" "$sent/other" w || fail "with the receiver there"
stop_mount || fail "status $? of k2hftfuse"
for name in many other; do
	[ "$(find "$received/senddir/$name" -type f | wc -l)" = 4500 ] || fail "$name: $(find "$received/senddir/$name" | wc -l) files"
	[ "$(cat "$received/senddir/$name"/* | sort -n | sha1sum)" = "$(seq 0 4499 | sha1sum)" ] || fail "$name: what is in them"
done

# As many as there can be, all open: that is an error at once.
start_mount
quick python3 - "$sent" <<'END' || fail "open files"
import errno, os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if hard != resource.RLIM_INFINITY and hard < 5000:
    sys.exit(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (5000, hard))
try:
    files = [os.open(f"{sys.argv[1]}/open{number}", os.O_WRONLY | os.O_CREAT) for number in range(4500)]
    sys.exit("all are open")
except OSError as error:
    assert error.errno == errno.ENFILE, error
END
stop_mount || fail "status $? of k2hftfuse"
