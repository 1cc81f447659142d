#!/bin/sh
# SPDX-License-Identifier: MIT
# STREAMMAX bounds the streams of all senders together: who needs one more is told so, disconnected and counted, with what
# came before acknowledged; others go on; it comes in by itself when there is room.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
fourth=
trap 'code=$?; [ -z "$fourth" ] || kill "$fourth" 2>/dev/null; receiver_cleanup; exit $code' EXIT
receiver_control

receiver_config 'STREAMMAX = 3' '[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
mkfifo "$dir/pipe"
wire <"$dir/pipe" >"$dir/first" &
first=$!
exec 3>"$dir/pipe"
printf '%s\n' 'hello first 1 0' welcome 'stream 1 text a' 'stream 2 text b' 'chunk 1 0 one\n' flush ack >&3
wait_until grep -q '^ack' "$dir/first"

is refused_streams 0 || fail "refused streams: $(counter refused_streams)"
wire <<'END' >"$dir/second" || fail "$(cat "$dir/second")"
hello second 1 0
welcome
stream 1 text c
chunk 1 0 before\n
flush
ack
stream 2 text d
error
closed
END
grep -q '^error 6 senders have more streams together than STREAMMAX of the receiver allows' "$dir/second" ||
	fail "$(cat "$dir/second")"
is refused_streams 1 || fail "refused streams: $(counter refused_streams)"
is limit_errors 1 || fail "limit errors: $(counter limit_errors)"
logged 'wirehost (127.0.0.1:[0-9]*) refused: senders have more streams' || fail "no word of it"
[ "$(cat "$dir/out/c")" = before ] || fail "what came before is not there"
[ ! -e "$dir/out/d" ] || fail "a file of a stream that was refused"

# The second one's places are free; a file of the first is as before. A third takes the last place, and a fourth waits.
cat >"$dir/script" <<'END'
hello third 1 0
welcome
stream 1 text e
chunk 1 0 third\n
flush
ack
closed
END
(
	exec 3>&-
	wire <"$dir/script" >"$dir/third"
) &
third=$!
wait_until grep -q '^ack' "$dir/third"
echo waits | "${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" -t f --timeout 60 2>"$dir/pushed" 3>&- &
fourth=$!
wait_until above refused_streams 1
kill -0 $fourth || fail "it does not wait: $(cat "$dir/pushed")"
printf '%s\n' 'chunk 2 0 two\n' flush ack bye >&3
exec 3>&-
wait $first || fail "the first: $(cat "$dir/first")"
wait $fourth || fail "the fourth: $(cat "$dir/pushed")"
fourth=
grep -q 'senders have more streams' "$dir/pushed" || fail "it was not told: $(cat "$dir/pushed")"
# A sender without an acknowledgement has lost nothing.
is ledger_lost 0 || fail "ledger lost: $(counter ledger_lost)"
for file in a:one b:two e:third f:waits; do
	[ "$(cat "$dir/out/${file%:*}")" = "${file#*:}" ] || fail "file ${file%:*}"
done
receiver_stop TERM
wait $third || fail "the third: $(cat "$dir/third")"
