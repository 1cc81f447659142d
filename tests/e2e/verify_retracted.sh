#!/bin/sh
# SPDX-License-Identifier: MIT
# Over the files of two receivers, less what the first one's list of retracted ranges names, each record is there once;
# so it is when all was copied elsewhere, and when the file was rotated. Other bytes at a named place count.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
k2hft="${B:-build}/bin/k2hft"
receiver_config ""
receiver_start
"$k2hft" verify --make -n 30 -q "$dir/made" || fail "making"
for part in 1,10 11,15 16,20 21,30; do
	sed -n "${part}p" "$dir/made" >"$dir/$part"
done
mkdir "$dir/other"
cat "$dir/11,15" "$dir/16,20" "$dir/21,30" >"$dir/other/log"

# The first receiver has 1 to 20, of which the sender knows 1 to 10 to be acknowledged, and a record of somebody behind 15.
half() {
	printf '%s\n' "file 1 $dir/$1" ack
}
{
	printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text log'
	half 1,10
	half 11,15
	half 16,20
} | wire >"$dir/said" || fail "$(cat "$dir/said")"
acked=$(sed -n 's/^ack //p' "$dir/said" | head -n 1)
sends 'foreign 1 0' log foreign
{
	printf '%s\n' "receiver $(od -An -tx1 -j16 -N16 "$dir/out/.k2hft/ledger" | tr -d ' ')" "unsettled $acked" \
		'hello ring 2 100000' welcome bye
} | wire | grep -q ' cut 0 retracted 10$' || fail "settlement"
list=$dir/out/.k2hft/retracted

read_all() {
	"$k2hft" verify -q --expect-all 30 "$@" >"$dir/found" 2>&1
}
read_all "$dir/out/log" "$dir/other/log" && fail "repeated records are none without the list"
read_all --retracted "$list" "$dir/out/log" "$dir/other/log" || fail "$(cat "$dir/found")"
mv "$dir/out/log" "$dir/out/log.1"
read_all --retracted "$list" "$dir/out/log.1" "$dir/other/log" || fail "rotated: $(cat "$dir/found")"
receiver_stop TERM
cp -r "$dir/out" "$dir/copy"
read_all --retracted "$dir/copy/.k2hft/retracted" "$dir/copy/log.1" "$dir/other/log" || fail "copied: $(cat "$dir/found")"
# The other receiver's file has the same bytes, and is not meant.
read_all --retracted "$dir/copy/.k2hft/retracted" "$dir/other/log" && fail "records 1 to 10 are there"
grep -q '10 missing\|1 to 10\|1-10' "$dir/found" || fail "$(cat "$dir/found")"
# Other bytes at the place.
tail -c +2 "$dir/copy/log.1" >"$dir/copy/log"
read_all --retracted "$dir/copy/.k2hft/retracted" "$dir/copy/log" "$dir/other/log" && fail "other bytes do not count"
printf 'base\tlog\t1\n' >"$dir/bad"
read_all --retracted "$dir/bad" "$dir/out/log.1"
[ $? = 2 ] || fail "a list that is none"
read_all --retracted "$dir/none" "$dir/out/log.1"
[ $? = 1 ] || fail "a list that is not there"
