#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in that hangs holds its own file only: other streams of the same sender are written, and another sender's are
# acknowledged. It shows in k2hft stat; when it goes on, all is there; and one that hangs for good does not keep the
# receiver's end.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
cat >"$dir/hangs" <<'END'
#!/bin/sh
# The file of the first argument keeps the one that writes the file of the second.
read -r first
if [ "$first" = hang ]; then
	while [ -e "$1" ]; do
		/bin/sleep 0.05
	done
fi
echo "$first"
exec /bin/cat
END
chmod +x "$dir/hangs"
: >"$dir/keep"
receiver_control
receiver_config "PLUGIN = $dir/hangs $dir/keep" '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
awk 'BEGIN { print "hang"; for (i = 0; i < 40000; i++) print "behind what hangs " i }' >"$dir/in.kept"
awk 'BEGIN { for (i = 0; i < 40000; i++) print "of its own " i }' >"$dir/in.free"
wire >"$dir/said.one" <<END &
hello one 1 0
welcome
stream 1 text kept
stream 2 text free
frame 60000
file 1 $dir/in.kept
file 2 $dir/in.free
ack
bye
END
sender=$!
wait_until arrived free "$(stat -c %s "$dir/in.free")"
cmp "$dir/in.free" "$dir/out/free" || fail "what is free"
sends 'two 1 0' other more
wait_until arrived other 5
[ ! -s "$dir/out/kept" ] || fail "what hangs has written"
wait_until above plugin_waiting_seconds 0
above plugin_waiting_bytes 1000 || fail "nothing waits"
# shellcheck disable=SC2317
says() {
	"${B:-build}/bin/k2hft" stat "127.0.0.1:$control" | head -n 1 | grep -q "$1"
}
wait_until says 'bytes wait for the plug-in of kept for [0-9]* s: process [0-9]* does not read them'
rm "$dir/keep"
wait "$sender" || fail "the sender: $(cat "$dir/said.one")"
wait_until arrived kept "$(stat -c %s "$dir/in.kept")"
cmp "$dir/in.kept" "$dir/out/kept" || fail "what hung"
: >"$dir/keep"
wire >"$dir/said.three" <<END &
hello three 1 0
welcome
stream 1 text again
chunk 1 0 hang\n
flush
ack
END
sender=$!
wait_until test -e "$dir/out/again"
receiver_stop TERM
wait "$sender"
exit 0
