#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in that dies loses nothing that it had not read: the next one goes on with the record in which it died. This one
# reads a line at a time and dies behind each 1000th, so that what is read is what it wrote.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
cat >"$dir/dies" <<'END'
#!/usr/bin/python3
import os, signal
done = 0
line = b""
while byte := os.read(0, 1):
    line += byte
    if byte == b"\n":
        os.write(1, line)
        line = b""
        done += 1
        if done == 1000:
            os.kill(os.getpid(), signal.SIGKILL)
END
chmod +x "$dir/dies"
receiver_control
receiver_config "PLUGIN = $dir/dies" '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
awk 'BEGIN { for (i = 1; i <= 5500; i++) print "line " i " of many" }' >"$dir/in"
wire >"$dir/said" <<END || fail "$(cat "$dir/said")"
hello ring 1 0
welcome
stream 1 text f
frame 4000
file 1 $dir/in
ack
bye
END
wait_until arrived f "$(stat -c %s "$dir/in")"
cmp "$dir/in" "$dir/out/f" || fail "the file"
is plugin_deaths 5 || fail "deaths: $(counter plugin_deaths)"
logged 'plug-in of f: process .* was ended by signal 9' || fail "no word of it"
exit 0
