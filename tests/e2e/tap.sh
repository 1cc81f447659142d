#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft tap shows records of a mount and of a ring as they pass, true ones, at its rate, and to nobody else than the owner.
# A folder that other users can get to.
TMPDIR=/tmp
. tests/tools/mount.sh
k2hft=$bin/k2hft
tapping=
trap 'code=$?; [ -z "$tapping" ] || kill "$tapping" 2>/dev/null; clean' EXIT

# shellcheck disable=SC2317
taps_ring() {
	readlink "/proc/$tapping/fd/"* 2>/dev/null | grep -qxF "$work/ring"
}
# tap OPTION...: in the background, to $work/seen; it heeds signals when it has the ring.
tap() {
	: >"$work/seen"
	"$k2hft" tap "$@" >>"$work/seen" 2>"$work/tap.err" &
	tapping=$!
	until_true 20 taps_ring || fail "the ring is not opened"
}
# Until it shows something, lines NAME are written.
# shellcheck disable=SC2317
seen_after_write() {
	echo "a record" >>"$sent/$1"
	[ -s "$work/seen" ]
}
end_tap() {
	kill "$tapping"
	wait "$tapping" || fail "status $? of k2hft tap: $(cat "$work/tap.err")"
	tapping=
}

settings="K2HTYPE = file
K2HFILE = $work/ring
RINGSIZE = 1M"
start_receiver
start_mount
for target in "$mnt" "$work/ring"; do
	tap "$target"
	until_true 20 seen_after_write log || fail "nothing is seen: $(cat "$work/tap.err")"
	end_tap
	grep -vE '^[0-9:]{8}\.[0-9]{3} (senddir/log|\?): a record$' "$work/seen" && fail "what is seen at $target"
done
exec 3>>"$sent/log" 4>>"$sent/other"
tap --stream 'nobody*' --rate 1000 "$mnt"
"$k2hft" tap --stream 'senddir/o*' --rate 1000 --count 3 "$mnt" >"$work/counted" &
counting=$!
# shellcheck disable=SC2317
counted_out() {
	echo log >&3
	echo other >&4
	! kill -0 "$counting" 2>/dev/null
}
until_true 20 counted_out || fail "three records are not seen"
exec 3>&- 4>&-
wait "$counting" || fail "status $?"
[ "$(sed 's/^[^ ]* //' "$work/counted" | uniq -c | tr -s ' ')" = " 3 senddir/other: other" ] || fail "$(cat "$work/counted")"
end_tap
[ -s "$work/seen" ] && fail "of no stream that matches: $(cat "$work/seen")"

# Fast: each line is one that was written, and they are not many.
# A tap begins where the sender reads: all lines of before are sent.
quick sync "$sent/log" "$sent/other" || fail "sync"
tap --rate 50 "$mnt"
began=$(date +%s)
# shellcheck disable=SC2317
seen_after_many() {
	for lap in 1 2 3 4 5; do
		seq -f "line %.0f of $lap" 100000 >>"$sent/fast"
	done
	[ -s "$work/seen" ]
}
until_true 20 seen_after_many || fail "nothing is seen: $(cat "$work/tap.err")"
end_tap
grep -vE '^[0-9:.]{12} senddir/fast: line [0-9]+ of [1-5]$' "$work/seen" && fail "what was never written"
[ "$(wc -l <"$work/seen")" -le $((50 * ($(date +%s) - began + 3))) ] || fail "$(wc -l <"$work/seen") records in a few seconds"

# refused STATUS TEXT TARGET...
refused() {
	status=$1 text=$2
	shift 2
	quick "$@" >"$work/seen" 2>"$work/tap.err"
	[ $? = "$status" ] || fail "$*: $(cat "$work/tap.err")"
	[ ! -s "$work/seen" ] || fail "$*: $(cat "$work/seen")"
	grep -q "$text" "$work/tap.err" || fail "$*: $(cat "$work/tap.err")"
}
refused 1 "a receiver has no ring" "$k2hft" tap "localhost:$port"
refused 1 "not the root of a mount" "$k2hft" tap "$work"
refused 1 "it is not a ring" "$k2hft" tap "$work/slave.ini"
refused 1 "No such file" "$k2hft" tap "$work/nowhere"
refused 2 "is needed" "$k2hft" tap
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	chmod 644 "$work/ring"
	cp "$k2hft" "$bin/../lib/libk2hft.so".* "$work/"
	refused 1 "another user's" setpriv --reuid=65534 --clear-groups env LD_LIBRARY_PATH="$work" "$work/k2hft" tap "$work/ring"
fi
stop_mount || fail "status $? of k2hftfuse"
exit 0
