#!/bin/sh
# SPDX-License-Identifier: MIT
# push -c takes the receiver and the ring from a configuration file; options go before it; what EXPIRE gives up is told.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
cat >"$dir/slave.ini" <<END
[GLOBAL]
PORT = 1
[SVRNODE]
NAME = 127.0.0.1
PORT = $port
[K2HFTFUSE]
K2HTYPE = file
K2HFILE = $dir/ring
RINGSIZE = 1M
END
printf 'a\nb\n' >"$dir/in"
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" -t configured --host elsewhere <"$dir/in" 2>"$dir/said" || fail "push -c"
[ ! -s "$dir/said" ] || fail "push -q -c says: $(cat "$dir/said")"
cmp "$dir/in" "$dir/out/configured" || fail "it differs"
[ -f "$dir/ring" ] || fail "no ring file"
logged 'elsewhere' || fail "host name"
# A warning that concerns it is shown, and no other.
"${B:-build}/bin/k2hft" push -c "$dir/slave.ini" -t warned <"$dir/in" 2>"$dir/said" || fail "push -c with warnings"
grep "slave.ini:.*K2HINIT" "$dir/said" || fail "no warning of K2HINIT: $(cat "$dir/said")"
! grep "has no rule" "$dir/said" || fail "a warning for mounts"
rm "$dir/ring"
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" --ring "$dir/other" -t other <"$dir/in" || fail "push -c --ring"
[ -f "$dir/other" ] || fail "no ring where --ring says"
[ ! -e "$dir/ring" ] || fail "a ring where the file says"
cmp "$dir/in" "$dir/out/other" || fail "other differs"

# That one keeps what is left, though each start begins the ring of the file afresh.
receiver_stop TERM
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" --ring "$dir/other" --timeout 0 -t left <"$dir/in" 2>/dev/null &&
	fail "nobody is there"
receiver_start
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" --ring "$dir/other" </dev/null || fail "what is left"
cmp "$dir/in" "$dir/out/left" || fail "left differs"
# So does the ring of the file, if what push says then is done.
receiver_stop TERM
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" --timeout 0 -t rest <"$dir/in" 2>"$dir/said" && fail "nobody is there"
told=$(sed -n 's|.*the same command with \(--ring .*\) </dev/null, and no files, sends it$|\1|p' "$dir/said")
[ -n "$told" ] || fail "$(cat "$dir/said")"
receiver_start
# shellcheck disable=SC2086 # words
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" $told </dev/null || fail "what remains"
cmp "$dir/in" "$dir/out/rest" || fail "rest differs"

# Records that EXPIRE gives up are lost, and push says so.
printf '%s\n' 'K2HINIT = no' 'EXPIRE = 1' >>"$dir/slave.ini"
receiver_stop TERM
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" --timeout 1 -t expired <"$dir/in" 2>/dev/null && fail "nobody is there"
sleep 1.5
receiver_start
"${B:-build}/bin/k2hft" push -q -c "$dir/slave.ini" </dev/null 2>"$dir/said" && fail "2 records are given up, and status 0"
grep -q 'push: 2 records were given up' "$dir/said" || fail "$(cat "$dir/said")"
[ ! -e "$dir/out/expired" ] || fail "what is given up came"

# A temporary ring keeps nothing.
sed -e 's/^K2HTYPE = .*/K2HTYPE = temp/' -e '/^K2HFILE/d' -e '/^K2HINIT/d' "$dir/slave.ini" >"$dir/temp.ini"
"${B:-build}/bin/k2hft" push -q -c "$dir/temp.ini" -t temporary <"$dir/in" || fail "push -c with a temporary ring"
cmp "$dir/in" "$dir/out/temporary" || fail "temporary differs"
receiver_stop TERM
"${B:-build}/bin/k2hft" push -q -c "$dir/temp.ini" --timeout 0 <"$dir/in" 2>"$dir/said" && fail "nobody is there"
grep -q 'what remains is lost' "$dir/said" || fail "$(cat "$dir/said")"

# A ring in memory is as large as the file says, too.
receiver_start
sed -e 's/^K2HTYPE = .*/K2HTYPE = mem/' -e '/^K2HFILE/d' -e '/^K2HINIT/d' -e 's/^RINGSIZE = .*/RINGSIZE = 32M/' "$dir/slave.ini" >"$dir/memory.ini"
mkfifo "$dir/pipe"
exec 4<>"$dir/pipe"
ring_bytes() {
	for descriptor in "/proc/$push/fd"/*; do
		case $(readlink "$descriptor") in
		/memfd:*) stat -L -c %s "$descriptor" ;;
		esac
	done
}
# MEBIBYTES OPTION... Names and the like take less than 6 of them.
has_ring() {
	wanted=$1
	shift
	"${B:-build}/bin/k2hft" push -q "$@" <"$dir/pipe" 2>"$dir/said" 4>&- &
	push=$!
	# It has no size for a moment.
	until [ "$(ring_bytes)" != 0 ] && [ -n "$(ring_bytes)" ]; do
		kill -0 $push || fail "push ended: $(cat "$dir/said")"
		sleep 0.05
	done
	bytes=$(ring_bytes)
	# Those of a large ring that stay in the caches.
	areas=$((wanted >= 32 ? 10 : wanted >= 8 ? 2 : 0))
	{ [ "$bytes" -gt $((wanted + areas << 20)) ] && [ "$bytes" -lt $((wanted + areas + 6 << 20)) ]; } || fail "a ring of $bytes bytes: $*"
	kill -9 $push
	wait $push 2>/dev/null
}
has_ring 32 -c "$dir/memory.ini"
has_ring 2 -c "$dir/memory.ini" --ring-size 2M
has_ring 8 -r "127.0.0.1:$port" -t x
receiver_stop TERM
