#!/bin/sh
# SPDX-License-Identifier: MIT
# A program attaches to the ring of a mount by its link; what it writes arrives whole, and so does what the mount gets
# meanwhile. It may be killed at any moment: the mount sends what was committed and goes on.
. tests/tools/mount.sh
attach=${B:-build}/examples/attach_ring
[ -x "$attach" ] || skip "the examples are not built here"
start_receiver
start_mount
seq 1 100000 >"$work/in"
printf 'no line end' >>"$work/in"
seq 1 2000000 >"$work/large"
quick "$attach" "$mnt/.k2hft-ring" attached/a.log <"$work/large" &
attached=$!
quick cp "$work/large" "$sent/copied" || fail cp
quick dd if="$work/in" of="$sent/small" bs=700 status=none || fail dd
wait $attached || fail attach_ring
cmp "$work/large" "$received/attached/a.log" || fail "a.log differs"
arrives "$work/large" senddir/copied
arrives "$work/in" senddir/small

mkfifo "$work/pipe"
"$attach" "$mnt/.k2hft-ring" attached/killed.log <"$work/pipe" &
attached=$!
exec 3>"$work/pipe"
{
	cat "$work/in"
	seq 1 100000
} >&3
until_true 20 arrived attached/killed.log 400000 || fail "killed.log does not grow"
kill -KILL $attached
wait $attached
exec 3>&-
quick cp "$work/in" "$sent/behind" || fail "cp behind it"
arrives "$work/in" senddir/behind
cat "$work/in" >"$work/expected"
seq 1 100000 >>"$work/expected"
cmp -n "$(stat -c %s "$received/attached/killed.log")" "$work/expected" "$received/attached/killed.log" ||
	fail "killed.log is no beginning of what was written"
stop_mount || fail "status $?"

# While the keeper can start no other worker a writer waits for one; when nobody is left it is told so.
. tests/tools/kill_worker.sh
start_mount
attach_waiting() {
	"$attach" "$mnt/.k2hft-ring" "attached/$1.log" <"$work/pipe" 2>"$work/$1.err" &
	attached=$!
	exec 3>"$work/pipe"
	head -n 100000 "$work/in" >&3
	until_true 20 bytes_begun "$1" || fail "$1.log does not begin"
	worker_of "$mount_pid" || fail "no worker"
	kill -STOP "$mount_pid"
	kill -KILL "$worker"
	echo "behind it" >&3
	exec 3>&-
	sleep 0.5
}
bytes_begun() { [ -s "$received/attached/$1.log" ]; }
attach_waiting kept
kill -CONT "$mount_pid"
wait "$attached" || fail "kept: $(cat "$work/kept.err")"
head -n 100000 "$work/in" >"$work/expected"
echo "behind it" >>"$work/expected"
cmp "$work/expected" "$received/attached/kept.log" || fail "kept.log differs"
attach_waiting left
kill -KILL "$mount_pid"
! wait "$attached" || fail "left: status 0"
grep -q "not everything was acknowledged: Broken pipe" "$work/left.err" || fail "left: $(cat "$work/left.err")"
wait "$mount_pid" 2>/dev/null
mount_pid=
