#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 120
# Receivers are added and removed by reloads while programs write both ways, from one to several and back, also one that is
# dead, and the worker is killed between: each record arrives once, those of a file in order, and where it goes on it waits for
# what is in front of it; no connection of a receiver that stays is closed; files of rings have the names of a start.
. tests/tools/mount.sh
. tests/tools/lanes.inc
settings="K2HTYPE = file
K2HFILE = $work/rings/ring
K2HINIT = no
RINGSIZE = 1M
FAILOVERTIME = 1
DRAINTIMEOUT = 30"
mkdir "$work/rings"
k2hft=$bin/k2hft
lanes 4

# with K...: the mount has these receivers from now on
write_config() {
	{
		printf '[GLOBAL]\n%s\n' "$global"
		for number in "$@"; do
			printf '[SVRNODE]\nNAME = 127.0.0.1\nPORT = %s\n' "$(lane_port "$number")"
		done
		printf '[K2HFTFUSE]\n%s\n%s\n' "$settings" "$rules"
	} >"$work/new.ini"
	cp "$work/new.ini" "$work/slave.ini"
}
with() {
	write_config "$@"
	quick "$k2hft" reload "$mnt" >"$work/said" 2>&1 || fail "reload with $*: $(cat "$work/said")"
}
sender_config() { write_config 1; }
ports() {
	for number in "$@"; do
		lane_port "$number"
	done | sort | paste -sd ' ' -
}
lanes_are() {
	found=$(stat_value "' '.join(sorted(lane['home'].split(':')[1] for lane in s['lanes']))" 2>/dev/null)
	[ "$found" = "$(ports "$@")" ]
}
ring_files() { (cd "$work/rings" && echo ring*); }
# connects K: of its own ring, which came first; that of a receiver that is away can go there, too.
connects() {
	own=$(sed -n 's/.* connected, ring \([^ ]*\) .*/\1/p' "$work/r$1.err" | head -n 1)
	grep -c " connected, ring $own " "$work/r$1.err"
}
killed() { quick kill -9 "$(pgrep -P "$mount_pid")"; }
# Their names decide, with the ports, who gets them: of so many each receiver gets some.
streams=48

cat >"$work/write.py" <<'END'
import os, sys, time
folder, stop, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
append = [os.O_APPEND if number % 2 else 0 for number in range(count)]
files = [os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT | append[number]) for number in range(count)]
line = 0
while not os.path.exists(stop):
    for number, file in enumerate(files):
        os.write(file, b"%d %d %s\n" % (number, line, b"x" * (line * 37 % 300)))
    line += 1
    time.sleep(0.002)
for file in files:
    os.close(file)
print(line)
END
start_mount
python3 "$work/write.py" "$sent" "$work/stop" $streams >"$work/lines" &
writer=$!
has_all() { [ "$(find "$work/r$1" -path '*/senddir/*' -type f | wc -l)" -gt 2 ]; }
until_true 20 has_all 1 || fail "nothing arrives"
with 1 2 3
for number in 1 2 3; do
	[ -f "$work/rings/ring.127.0.0.1:$(lane_port $number)" ] || fail "rings: $(ring_files)"
done
[ -e "$work/rings/ring" ] && fail "rings: $(ring_files)"
until_true 20 has_all 2 || fail "the second gets nothing"
until_true 20 has_all 3 || fail "the third gets nothing"
before=$(connects 2)
killed
until_true 20 lanes_are 1 2 3 || fail "behind a death: $(stat_value s)"
before=$((before + 1))
with 2 3
until_true 20 lanes_are 2 3 || fail "the first stays"
with 3 2 4
until_true 20 has_all 4 || fail "the fourth gets nothing"
# One that is dead: the others get what it has not acknowledged.
down 3
sleep 0.3
with 2 4
# shellcheck disable=SC2154 # by lanes
goes_elsewhere() { [ "$(lane 3 goes_to 2>/dev/null)" != "127.0.0.1:$port_3" ]; }
until_true 20 goes_elsewhere || fail "what is left for the third stays with it"
killed
up 3
until_true 20 lanes_are 2 4 || fail "the third stays: $(stat_value s)"
[ "$(connects 2)" -le $((before + 1)) ] || fail "a connection was closed"
with 2
gone_but_second() { [ "$(ring_files)" = ring ]; }
until_true 20 gone_but_second || fail "rings: $(ring_files)"
: >"$work/stop"
wait $writer || fail "the writer: status $?"
until_true 30 all_acked || fail "not all is acknowledged"

cat >"$work/compare.py" <<'END'
import glob, sys
work, streams, lines = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for stream in range(streams):
    holders = {}
    for path in glob.glob(f"{work}/r[0-9]/senddir/{stream}"):
        last = -1
        for line in open(path, "rb"):
            name, number, rest = line.rstrip(b"\n").split(b" ")
            number = int(number)
            if int(name) != stream or len(rest) != number * 37 % 300:
                sys.exit(f"{path}: {line!r}")
            if number <= last:
                sys.exit(f"{path}: {number} behind {last}")
            if number in holders:
                sys.exit(f"{path}: {number} is in {holders[number]}, too")
            holders[number] = path
            last = number
    if sorted(holders) != list(range(lines)):
        sys.exit(f"stream {stream}: {lines - len(holders)} lines are missing")
    moves = sum(holders[number] != holders[number - 1] for number in range(1, lines))
    if moves > 7:
        sys.exit(f"stream {stream}: {moves} moves")
END
python3 "$work/compare.py" "$work" $streams "$(cat "$work/lines")" || fail "what arrived"

# A stream that moves waits for what its receiver has not acknowledged, and no other does.
with 1 2
for file in $(seq 40); do
	echo first >"$sent/m$file"
done
until_true 30 all_acked || fail "not all is acknowledged"
# shellcheck disable=SC2154 # by lanes
kill -STOP "$pid_1"
moving=$(cd "$work/r1/senddir" && echo m*) staying=$(cd "$work/r2/senddir" && echo m*)
for file in $moving; do
	echo second >>"$sent/$file"
done
with 2 4
for file in $moving $staying; do
	# shellcheck disable=SC2016 # that shell's
	timeout 20 sh -c 'echo third >>"$1"' sh "$sent/$file" || fail "$file can't be written"
done
for file in $staying; do
	third=$(cat "$work"/r[24]/senddir/"$file" 2>/dev/null | grep -c third)
	[ "$third" = 1 ] || until_true 10 grep -qs third "$work/r2/senddir/$file" "$work/r4/senddir/$file" || fail "$file waits"
done
kill -CONT "$pid_1"
until_true 30 lanes_are 2 4 || fail "the first stays: $(stat_value s)"
until_true 30 all_acked || fail "not all is acknowledged"
for file in $moving $staying; do
	[ "$(cat "$work"/r[124]/senddir/"$file" | sort | paste -sd ' ' -)" = "first second third" ] ||
		[ "$(cat "$work"/r[124]/senddir/"$file" | sort | paste -sd ' ' -)" = "first third" ] ||
		fail "$file: $(cat "$work"/r[124]/senddir/"$file")"
done

# A list that is wrong changes nothing.
write_config 2 4 2
quick "$k2hft" reload "$mnt" >"$work/said" 2>&1 && fail "a receiver twice"
lanes_are 2 4 || fail "a reload that fails changes receivers"
stop_mount || fail "status $? of k2hftfuse"
