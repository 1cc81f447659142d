#!/bin/sh
# SPDX-License-Identifier: MIT
# A stream's file is byte for byte what was sent: real logs if they are there, and awkward bytes; as it is and by LZ4.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir "$dir/in"
printf x >"$dir/in/byte"
printf 'no line end' >"$dir/in/no-lf"
printf 'a\r\nb\n\n\n\000\377\376\n' >"$dir/in/controls"
head -c 3000000 /dev/urandom >"$dir/in/random"
head -c 300000 /dev/zero >"$dir/in/zeros"
seq 200000 >"$dir/in/numbers"
for log in ../shared/logs/*.log; do
	[ ! -e "$log" ] || cp "$log" "$dir/in/"
done
receiver_config ""
receiver_start
for lz4 in 0 1; do
	id=0
	{
		echo "hello ring$lz4 1 0"
		echo welcome
		echo "lz4 $lz4"
		for file in "$dir"/in/*; do
			id=$((id + 1))
			echo "stream $id text sub/$lz4/${file##*/}"
			echo "file $id $file"
		done
		echo ack
		echo bye
		echo closed
	} | wire >"$dir/said" || fail "sending"
	for file in "$dir"/in/*; do
		cmp "$file" "$dir/out/sub/$lz4/${file##*/}" || fail "${file##*/} differs, lz4 $lz4"
	done
done
receiver_stop TERM
