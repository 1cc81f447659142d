#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in gets the end of its input when the receiver ends, when SIGHUP comes, and when its file is removed or renamed;
# the next one goes on, and nothing is lost or there twice. FILE_UNIFY's begins with the receiver.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
cat >"$dir/counts" <<'END'
#!/usr/bin/python3
import sys
count = 0
while line := sys.stdin.readline():
    count += 1
    print(line, end="", flush=True)
print("end of", count)
END
chmod +x "$dir/counts"
receiver_control
receiver_config "PLUGIN = $dir/counts" 'FILE_UNIFY = all' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
wait_until is plugins_running 1
sends 'one 1 0' f one two
wait_until arrived all 8
kill -HUP "$pid"
wait_until arrived all 17
sends 'two 1 0' g three
wait_until arrived all 23
mv "$dir/out/all" "$dir/out/old"
wait_until arrived old 32
sends 'three 1 0' h four
wait_until arrived all 5
receiver_stop TERM
printf 'one\ntwo\nend of 2\nthree\nend of 1\n' | cmp - "$dir/out/old" || fail "old: $(cat "$dir/out/old")"
printf 'four\nend of 1\n' | cmp - "$dir/out/all" || fail "all: $(cat "$dir/out/all")"
exit 0
