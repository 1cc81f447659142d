#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGHUP makes NAME of [SLVNODE], as it is then, say who may make new connections; those that are there stay; what is wrong
# changes nothing.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc

# reload LOGGED LINE...: the configuration with these lines behind it
reload() {
	wanted=$1
	shift
	receiver_config ""
	printf '%s\n' "$@" >>"$dir/conf"
	count=$(grep -c "$wanted" "$dir/log")
	kill -HUP "$pid"
	wait_until logged_more
}
logged_more() { [ "$(grep -c "$wanted" "$dir/log")" -gt "$count" ]; }

# may NAME: whether a new connection may send
may() {
	printf '%s\n' "hello $1 1 0" welcome "stream 1 text $1" "chunk 1 0 $1\\n" flush ack bye | wire >"$dir/said" &&
		[ "$(cat "$dir/out/$1")" = "$1" ]
}
may_not() {
	printf '%s\n' "hello $1 1 0" error closed | wire >"$dir/said" || fail "$1: $(cat "$dir/said")"
	grep -q '^error 5 this host may not connect' "$dir/said" || fail "$1: $(cat "$dir/said")"
}

receiver_config ""
receiver_start
may anybody || fail "without SLVNODE: $(cat "$dir/said")"

mkfifo "$dir/pipe"
wire <"$dir/pipe" >"$dir/kept" &
kept=$!
exec 3>"$dir/pipe"
printf '%s\n' 'hello kept 1 0' welcome 'stream 1 text kept' >&3
connected() { grep -q '^welcome' "$dir/kept"; }
wait_until connected

named='from now on hosts that match NAME of an \[SLVNODE\] may make new connections'
reload "$named" '[SLVNODE]' 'NAME = 192.0.2.1'
may_not first

reload 'not reloaded, nothing has changed: .*conf:[0-9]*: ' '[SLVNODE]' 'NAME = 127.0.0.1' '[SLVNODE]' 'NAME = web('
logged 'conf:[0-9]*: ' || fail "no place of what is wrong"
may_not second

reload "$named" '[SLVNODE]' 'NAME = 192.0.2.1' '[SLVNODE]' 'NAME = 127.0.0.1'
may named || fail "by the new name: $(cat "$dir/said")"

mv "$dir/conf" "$dir/moved"
kill -HUP "$pid"
wait_until logged 'conf: .*No such file'
may named_still || fail "without the file: $(cat "$dir/said")"

reload "$named" '[SLVNODE]' 'NAME = 192.0.2.1'
may_not third
reload 'without \[SLVNODE\] any host may make new connections' ''
may anybody_again || fail "without SLVNODE again: $(cat "$dir/said")"

# The connection from before is the one that it was.
printf '%s\n' 'chunk 1 0 kept\n' flush ack bye >&3
exec 3>&-
wait $kept || fail "the first connection: $(cat "$dir/kept")"
[ "$(cat "$dir/out/kept")" = kept ] || fail "the first connection's record"
receiver_stop TERM
