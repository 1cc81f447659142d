#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify --make -r writes through the library: threads with streams of their own and with one, by address and by
# configuration file; a receiver that is not there is reported.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
receiver_config ''
receiver_start
make_records -r "127.0.0.1:$port" -t own --producers 3 --size 10-300 -n 20000
reads 0 --only --expect-all 20000 --producers 3 "$dir/out/own.1" "$dir/out/own.2" "$dir/out/own.3"
make_records -r "127.0.0.1:$port" -t one --producers 4 --shared --size 24-300 -n 20000
reads 0 --only --expect-all 20000 --producers 4 "$dir/out/one"
make_records -r "127.0.0.1:$port" -t pieces --write-bytes 13 -n 5000
reads 0 --only --expect-all 5000 "$dir/out/pieces"
make_records -r "127.0.0.1:$port" -t large --size 3M-20M -n 5
reads 0 --only --expect-all 5 "$dir/out/large"
printf '[GLOBAL]\nPORT = %s\n[SVRNODE]\nNAME = 127.0.0.1\n[K2HFTFUSE]\nK2HTYPE = mem\n' "$port" >"$dir/slave.ini"
make_records -c "$dir/slave.ini" -t config -n 5000
reads 0 --only --expect-all 5000 "$dir/out/config"
receiver_stop TERM

"$k2hft" verify --make -r "127.0.0.1:$port" -t none --ring "$dir/ring" --timeout 0 -n 1000 >"$dir/said" 2>&1
[ $? = 1 ] || fail "without a receiver all is fine"
says '1000 records are not acknowledged'
receiver_start
"$k2hft" push -q -r "127.0.0.1:$port" --ring "$dir/ring" </dev/null || fail "what was left in the ring"
reads 0 --only --expect-all 1000 "$dir/out/none"
receiver_stop TERM
# The first signal ends the making, not the sending: it waits for a receiver.
"$k2hft" verify --make -r "127.0.0.1:$port" -t signal --ring "$dir/signal.ring" -n 1000 >"$dir/said" 2>&1 &
making=$!
all_made() { "$k2hft" stat --json "$dir/signal.ring" 2>/dev/null | grep -q '"unacked_records": 1000\b'; }
wait_until all_made
wait_until grep -q 'Connection refused' "$dir/said"
kill -TERM $making
sleep 0.5
receiver_start
wait $making || fail "status $? after SIGTERM"
reads 0 --only --expect-all 1000 "$dir/out/signal"
receiver_stop TERM
# A ring that stays full is given up, in the middle of a record, too.
echo 'RINGSIZE = 1M' >>"$dir/slave.ini"
for made in '-n 1000000 --producers 2' '--size 3M -n 2'; do
	# shellcheck disable=SC2086
	timeout 60 "$k2hft" verify --make -c "$dir/slave.ini" -t none --timeout 1 $made >"$dir/said" 2>&1
	[ $? = 1 ] || fail "$made: a full ring is not given up"
	says 'the ring is full, and nothing was acknowledged for 1 s'
done
# Records that EXPIRE gives up are lost.
cp "$dir/slave.ini" "$dir/expire.ini"
printf '%s\n' 'K2HTYPE = file' "K2HFILE = $dir/expiring" 'K2HINIT = no' 'EXPIRE = 1' >>"$dir/expire.ini"
"$k2hft" verify --make -c "$dir/expire.ini" -t expired --timeout 0 -n 1000 >"$dir/said" 2>&1
[ $? = 1 ] || fail "without a receiver all is fine"
sleep 1.5
receiver_start
"$k2hft" verify --make -c "$dir/expire.ini" -t late -n 1 >"$dir/said" 2>&1
[ $? = 1 ] || fail "records were given up, and all is fine"
says '1000 records were given up'
# A ring that can't be made is told with its key, or with the option that names it.
sed "s|^K2HFILE = .*|K2HFILE = $dir/missing/ring|" "$dir/expire.ini" >"$dir/place.ini"
reads 1 --make -c "$dir/place.ini" -t none
says "place.ini:[0-9]*: K2HFILE $dir/missing/ring: No such file or directory; make its directory"
reads 1 --make -c "$dir/place.ini" --ring "$dir/missing/other" -t none
says "verify: $dir/missing/other: No such file or directory; make its directory"
receiver_stop TERM
"$k2hft" verify --make -c "$dir/none.ini" -t none >"$dir/said" 2>&1
[ $? = 2 ] || fail "a configuration file that is not there"
says 'none.ini'
