#!/bin/sh
# SPDX-License-Identifier: MIT
# A FORMAT makes one record of one line, also if the line came in pieces: over LINEMAX from several senders at once into
# one file, while the receiver is killed again and again; and after fsync(2) in mid-line, in the middle of a character.
. tests/tools/mount.sh
receiver_settings='FILE_UNIFY = all.json
FORMAT = "%J|\n"'
settings='LINEMAX = 64K'
start_receiver
python3 - "$work" <<'END'
import os, random, sys
random.seed(os.environ.get("K2HFT_SEED"))
for sender in "abc":
    with open(f"{sys.argv[1]}/{sender}.log", "w", encoding="utf-8") as file:
        for number in range(12):
            file.write(f"{sender}{number} " + "日本語のとても長い行😀" * random.choice((1, 100, 30000, 90000)) + "\n")
END
senders=
# A push ends while the last receiver has its connection: else no receiver hears that it knows of the ends.
for sender in a b; do
	{
		cat "$work/$sender.log"
		until_true 60 test -e "$work/killed"
	} | "$bin/k2hft" push -q -r "127.0.0.1:$port" --ring-size 256K &
	senders="$senders $!"
done
start_mount
quick cp "$work/c.log" "$sent/c.log" &
senders="$senders $!"
fixed_port=1
for step in 1 2 3 4 5 6; do
	sleep 0.1
	kill -9 "$receiver_pid"
	wait "$receiver_pid" 2>/dev/null
	[ -z "$(ls "$received/.k2hft/carried")" ] || caught=1
	start_receiver
done
# shellcheck disable=SC2317
all_connected() {
	awk '/listening on/ { n = 0 } /connected, ring/ { n++ } END { exit n != 3 }' "$work/receiver.err"
}
until_true 30 all_connected || fail "a sender has not come back"
touch "$work/killed"
for sender in $senders; do
	wait "$sender" || fail "a sender ended with status $?"
done
[ -n "${caught:-}" ] || echo "no receiver was killed in the middle of a line"
sed 's/$/|/' "$work/a.log" "$work/b.log" "$work/c.log" | LC_ALL=C sort >"$work/expected"
arrived_sorted() {
	LC_ALL=C sort "$received/all.json" | cmp -s - "$work/expected"
}
until_true 30 arrived_sorted || {
	cut -c 1-60 "$received/all.json" | head -50
	fail "not one record for each line"
}
for sender in a b c; do
	sed 's/$/|/' "$work/$sender.log" >"$work/one"
	grep "^$sender" "$received/all.json" | cmp - "$work/one" || fail "order of $sender"
done

cat >"$work/sync.py" <<'END'
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | int(sys.argv[2]))
for part in "ein Z漢ichen\n".encode().partition(b"\xbc"):
    os.write(descriptor, part)
    os.fsync(descriptor)
END
append=$(python3 -c 'import os; print(os.O_APPEND)')
quick python3 "$work/sync.py" "$sent/direct" 0 || fail "fsync in the direct way"
quick python3 "$work/sync.py" "$sent/cached" "$append" || fail "fsync in the cached way"
printf 'ein Z漢ichen|\nein Z漢ichen|\n' >"$work/two"
tail -n 2 "$received/all.json" | cmp - "$work/two" || fail "fsync(2) has split a record"
# Until the sender proves to know of the ends, by the answer to a PING after 5 s of silence.
tries=0
while [ -n "$(ls "$received/.k2hft/carried")" ]; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || fail "something is left in carried"
	sleep 0.1
done
