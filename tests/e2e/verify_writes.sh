#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify --make writes in the ways of its options, ends by its limits and by a signal after a whole record, and
# reports what can't be written.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
for way in --append-each --reopen '--write-bytes 1' '--write-bytes 7' '--write-bytes 1M' --append '--sync' \
	'--append-each --producers 3 --shared' '--rate 100000' '--bytes 30K' '--write-bytes 10'; do
	rm -f "$dir/file"
	# shellcheck disable=SC2086
	make_records -n 1000 --size "$([ "$way" = '--write-bytes 10' ] && echo 10 || echo 20-120)" $way "$dir/file"
	reads 0 "$dir/file"
	case $way in
	--bytes*)
		bytes=$(wc -c <"$dir/file")
		if [ "$bytes" -lt 30720 ] || [ "$bytes" -ge 31000 ]; then fail "$way: $bytes bytes"; fi
		;;
	*) reads 0 --expect-all 1000 "$dir/file" ;;
	esac
done
make_records -q -n 2000 /dev/stdout
mv "$dir/said" "$dir/through"
reads 0 --expect-all 2000 "$dir/through"

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	# LeakSanitizer can't look at a process that is traced.
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
	strace -f -e trace=write,open,openat -o "$dir/trace" "$k2hft" verify --make -q -n 20 --size 50 --append-each "$dir/file"
	[ "$(grep -c 'write([0-9]*, "~k2.* = 50$' "$dir/trace")" = 20 ] || fail "--append-each is not one write for each"
	grep -q "$dir/file.*O_APPEND" "$dir/trace" || fail "--append-each without O_APPEND"
	strace -f -e trace=write -o "$dir/trace" "$k2hft" verify --make -q -n 20 --size 50 --write-bytes 8 "$dir/file"
	[ "$(grep -c ' = 8$' "$dir/trace")" = 125 ] || fail "--write-bytes 8 does not write 8 bytes"
fi

rm "$dir/file"
"$k2hft" verify --make --rate 2000 -n 100000000 --append-each --table "$dir/file" >"$dir/said" 2>&1 &
pid=$!
count=0
until [ -e "$dir/file" ] && [ "$(wc -l <"$dir/file")" -ge 100 ]; do
	count=$((count + 1))
	[ $count -lt 400 ] || fail "it does not write"
	sleep 0.05
done
kill -TERM $pid
wait $pid || fail "status $? after SIGTERM"
last=$(tail -n 1 "$dir/said" | cut -f 4)
reads 0 --expect 1="$last" "$dir/file"

"$k2hft" verify --make /dev/full >"$dir/said" 2>&1
[ $? = 1 ] || fail "/dev/full is written to"
says '/dev/full: producer 1, record 1: No space left on device'
"$k2hft" verify --make "$dir/none/x" >"$dir/said" 2>&1
[ $? = 1 ] || fail "a file in no folder is written to"
says 'none/x: producer 1, record 1: No such file'
reads 1 "$dir/none"
says 'none: No such file'
reads 1 "$dir"
says 'Is a directory'
