#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of every shape arrive byte for byte through the library, whichever call takes them.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
mkdir "$dir/in"
: >"$dir/in/empty"
printf x >"$dir/in/one-byte"
printf 'a\r\n\n\nno end' >"$dir/in/no-line-end"
head -c 3000000 /dev/urandom >"$dir/in/random"
seq 1 300000 >"$dir/in/numbers"
{
	for bytes in 0 1 4096 1048575 1048576 1048577 67108864; do
		head -c $bytes /dev/zero | tr '\0' x
		echo
	done
} >"$dir/in/long-lines"
logs=${K2HFT_LOGS:-../shared/logs}
if [ -d "$logs" ]; then
	cp "$logs"/* "$dir/in/"
else
	echo "no $logs: real logs were not tried"
fi
for file in "$dir/in"/*; do
	name=${file##*/}
	for way in lines records blocks; do
		"${B:-build}/tests/tools/library_send" "$port" "$way/$name" $way "$file" || fail "$way of $name"
		[ -s "$file" ] || continue
		cmp "$file" "$dir/out/$way/$name" || fail "$name differs, sent as $way"
	done
done
