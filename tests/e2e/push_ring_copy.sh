#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring file of which the receiver has had more, as one from a backup or after a power cut: what has come to it since is
# sent and not taken for what the receiver has, nothing that is there comes again, and nobody waits for ever.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft="${B:-build}/bin/k2hft"
receiver_config ""
receiver_start
push() {
	"$k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/ring" -t f --timeout 20 "$@" 2>>"$dir/push.log"
}
# Nobody is there: they stay in the ring.
leave() {
	lines "$1" "$2" >"$dir/in"
	! push --timeout 0 "$dir/in" || fail "push without a receiver says that all is acknowledged"
}
lines() {
	seq -f '%09.0f' "$1" "$2"
}
said_so() {
	grep -q 'its file is an older copy' "$dir/push.log" || fail "no word of it: $(cat "$dir/push.log")"
}

# Some records of the copy are acknowledged, and the rest will be.
mkfifo "$dir/pipe"
push "$dir/pipe" &
pushing=$!
exec 3>"$dir/pipe"
lines 1 1000 >&3
wait_until arrived f 10000
kill -STOP "$pid"
lines 1001 2000 >&3
wait_until grep -aq 000002000 "$dir/ring"
cp "$dir/ring" "$dir/copy"
kill -CONT "$pid"
exec 3>&-
wait $pushing || fail "push before the copy is there"
lines 2001 3000 | push || fail "lines behind the copy"
# Opened twice in its place before a receiver comes, and then it has more than the receiver has had of the other.
receiver_stop TERM
cp "$dir/copy" "$dir/ring"
leave 4001 5000
leave 5001 9000
receiver_start
push </dev/null || fail "what came to the copy: $(cat "$dir/push.log")"
said_so
logged 'it is an older copy, and gets another name' || fail "the receiver does not know"
lines 9001 9010 | push || fail "the next"
{
	lines 1 3000
	lines 4001 9010
} | cmp - "$dir/out/f" || fail "with the copy it differs"

# A copy that was opened less often than the other: nobody knows how far that came, so its records are sent.
receiver_stop TERM
rm "$dir/out/f" "$dir/ring" "$dir/push.log"
leave 1 1000
cp "$dir/ring" "$dir/copy"
receiver_start
for _ in 1 2 3; do
	push </dev/null || fail "what was left"
done
cp "$dir/copy" "$dir/ring"
lines 1001 2000 | push || fail "of an older epoch: $(cat "$dir/push.log")"
said_so
{
	lines 1 1000
	lines 1 2000
} | cmp - "$dir/out/f" || fail "of an older epoch it differs"
