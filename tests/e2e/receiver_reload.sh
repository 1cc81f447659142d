#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft reload, 50 times with a good file and 50 times with a broken one, while senders send: nothing is lost or comes twice,
# no connection is closed, the broken file is named with line; FORMAT, FILE_UNIFY and limits are those of the last good one;
# a key that needs a restart keeps all others from changing.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft="${B:-build}/bin/k2hft"

# configured LINE...
configured() {
	receiver_config "$@"
	printf '%s\n' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control" >>"$dir/conf"
}
# refused WANTED TARGET: the reload fails and says so
refused() {
	"$k2hft" reload "$2" >"$dir/said" 2>&1
	[ $? = 1 ] || fail "status of a reload of a broken file: $(cat "$dir/said")"
	grep -q "$1" "$dir/said" || fail "not said: $1: $(cat "$dir/said")"
}

receiver_control
configured 'FORMAT = %L'
receiver_start
mkfifo "$dir/pipe"
# Half of the lines are longer than a chunk.
python3 -c 'import os, sys, time
n = 0
while not os.path.exists(sys.argv[2]):
    for _ in range(20):
        line = b"%d %s\n" % (n, b"z" * (n % 2 * 10000))
        n += 1
        sys.stdout.buffer.write(line)
        with open(sys.argv[1], "ab") as copy:
            copy.write(line)
    sys.stdout.flush()
    time.sleep(0.002)' "$dir/copy" "$dir/stop" >"$dir/pipe" &
writer=$!
"$k2hft" push -q -r "127.0.0.1:$port" -t one/stream <"$dir/pipe" &
pusher=$!
wait_until arrived one/stream 1000000
before=$(counter connections)
for round in 1 2 3 4 5 6 7 8 9 10; do
	for target in "127.0.0.1:$control" "$dir/out/.k2hft" "$dir/out" "$dir/conf" "127.0.0.1:$control"; do
		case $round in
		*[13579]) configured 'FORMAT = "@%L"' "FILE_MODE = 064$((round % 2 * 4))" ;;
		*) configured "STREAMMAX = $((round + 100))" 'WRITEBUF = 64K' 'FILE_SYNC = interval' ;;
		esac
		"$k2hft" reload "$target" >"$dir/said" 2>&1 || fail "$target: $(cat "$dir/said")"
		grep -q "^$target: reloaded: $dir/conf is in use$" "$dir/said" || fail "$(cat "$dir/said")"
		configured 'WRITEBUF = 1'
		refused "$dir/conf:8: " "$target"
	done
done
[ "$(counter connections)" = "$before" ] || fail "a connection was closed"
: >"$dir/stop"
wait $writer
wait $pusher || fail "the sender ended with status $?"
sed 's/^@//' "$dir/out/one/stream" | cmp - "$dir/copy" || fail "the records"
grep -q '^@' "$dir/out/one/stream" || fail "no FORMAT was used"
grep -q '^[0-9]' "$dir/out/one/stream" || fail "one FORMAT was always used"

status() { "$k2hft" stat --json "127.0.0.1:$control" >"$dir/status"; }
status
python3 -c 'import json, sys
reload = json.load(open(sys.argv[1]))["reload"]
assert (reload["begun"], reload["done"], reload["failed"]) == (100, 100, 50), reload
assert "conf:8: " in reload["error"], reload' "$dir/status" || fail "the status"

# The name of one file for all is of the last good one, and so are limits.
configured 'FILE_UNIFY = all' 'CONNMAXHOST = 1'
"$k2hft" reload -q "127.0.0.1:$control" || fail "FILE_UNIFY"
sends "a 1 0" left left
[ "$(cat "$dir/out/all")" = left ] || fail "FILE_UNIFY has no effect"
configured 'FILE_UNIFY = other' 'LISTEN = 127.0.0.1'
refused "$dir/conf:9: LISTEN changed, which needs a restart" "127.0.0.1:$control"
sends "b 1 0" more more
[ ! -e "$dir/out/other" ] || fail "some of a file that needs a restart was taken"

# Nobody is there any more.
receiver_stop TERM
refused 'does not run here' "$dir/out"
refused 'Connection refused' "127.0.0.1:$control"
