#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file that is copied to another place, where records gather, too, while the original goes on: each record of both
# arrives once, whichever of them comes to the receiver first.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft="${B:-build}/bin/k2hft"
receiver_config ""
receiver_start
push() {
	ring=$1
	shift
	"$k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/$ring" -t "${target:-f}" --timeout 20 "$@" 2>>"$dir/push.log"
}
lines() {
	seq -f '%09.0f' "$1" "$2"
}
# Nobody is there: they stay in the ring.
leave() {
	lines "$2" "$3" >"$dir/in"
	! push "$1" --timeout 0 "$dir/in" || fail "push without a receiver says that all is acknowledged"
}
once() {
	sort "$dir/out/${target:-f}" | cmp - "$dir/wanted" || fail "$1: $(cat "$dir/push.log")"
	if grep -q 'ledger\|older copy\|damaged' "$dir/push.log"; then
		fail "$1: $(cat "$dir/push.log")"
	fi
}

# The original is in use when it is copied, and goes on, by its connection, while the copy is sent.
mkfifo "$dir/pipe"
push ring "$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
lines 1 1000 >&3
wait_until arrived f 10000
kill -STOP "$pid"
lines 1001 2000 >&3
wait_until grep -aq 000002000 "$dir/ring"
cp "$dir/ring" "$dir/copy"
cp "$dir/ring" "$dir/later"
kill -CONT "$pid"
lines 2001 3000 | push copy || fail "the copy"
lines 3001 4000 >&3
lines 4001 5000 | push copy || fail "the copy, again"
exec 3>&-
wait $pushing || fail "the original"
lines 5001 6000 | push ring || fail "the original, again"
# The original has been opened since.
lines 6001 7000 | push copy || fail "the copy, at last"
lines 1 7000 >"$dir/wanted"
once "two that go on"
# Of this one, which comes later, all is there that the original has.
lines 7001 7010 | push later || fail "the later"
lines 1 7010 >"$dir/wanted"
once "the later"

# The copy comes first, and is copied itself; nothing was ever sent.
target=g
receiver_stop TERM
leave first 1 1000
cp "$dir/first" "$dir/second"
leave second 1001 2000
leave first 2001 3000
receiver_start
push second </dev/null || fail "the copy comes first"
push first </dev/null || fail "the original comes second"
lines 1 3000 >"$dir/wanted"
once "the copy first"

# The same, of a ring that the receiver knows.
target=i
lines 1 1000 | push known || fail "a ring that gets known"
receiver_stop TERM
leave known 1001 2000
cp "$dir/known" "$dir/elsewhere"
leave known 2001 3000
leave elsewhere 3001 4000
receiver_start
push elsewhere </dev/null || fail "the copy of what is known comes first"
push known </dev/null || fail "the original of it comes second"
lines 1 4000 >"$dir/wanted"
once "what is known"

# A file that is moved to another disk is a copy without an original.
target=h
receiver_stop TERM
leave third 1 1000
cp "$dir/third" "$dir/fourth"
rm "$dir/third"
leave fourth 1001 2000
receiver_start
lines 2001 2010 | push fourth || fail "moved"
lines 1 2010 | cmp - "$dir/out/h" || fail "moved"
