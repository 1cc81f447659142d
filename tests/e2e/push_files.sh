#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of every shape arrive byte for byte, each in the file of its name.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start
push="${B:-build}/bin/k2hft push -q -r 127.0.0.1:$port"
mkdir "$dir/in"
printf x >"$dir/in/one-byte"
printf '\n' >"$dir/in/one-line-end"
printf '\n\n\n\n' >"$dir/in/empty-lines"
printf 'a\r\nb\r\n' >"$dir/in/cr-lf"
printf 'a\n\nno end' >"$dir/in/no-line-end"
awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >"$dir/octal"
# shellcheck disable=SC2059 # the octal digits are a format
printf "$(cat "$dir/octal")" >"$dir/in/all-bytes"
head -c 3000000 /dev/urandom >"$dir/in/random"
seq 1 200000 >"$dir/in/numbers"
{
	for bytes in 0 1 4096 1048575 1048576 1048577; do
		head -c $bytes /dev/zero | tr '\0' x
		echo
	done
} >"$dir/in/long-lines"
{
	echo before
	head -c 67108864 /dev/zero | tr '\0' y
	printf '\nbehind\n'
} >"$dir/in/line-of-64-mib"
for file in "$dir/in"/*; do
	$push "$file" || fail "push ${file##*/}"
	cmp "$file" "$dir/out/${file##*/}" || fail "${file##*/} differs"
done
# Several files in one go, a path for a file, and the same as blocks.
rm "$dir/in/line-of-64-mib" && rm -r "$dir/out"/*
$push "$dir/in"/* || fail "push of all"
for file in "$dir/in"/*; do
	cmp "$file" "$dir/out/${file##*/}" || fail "${file##*/} differs the second time"
done
$push -t a/b/c.log "$dir/in/random" "$dir/in/numbers" || fail "push -t"
cat "$dir/in/random" "$dir/in/numbers" | cmp - "$dir/out/a/b/c.log" || fail "joined files differ"
$push --binary -t blocks "$dir/in/random" || fail "push --binary"
cmp "$dir/in/random" "$dir/out/blocks" || fail "blocks differ"
: >"$dir/in/empty"
$push "$dir/in/empty" || fail "push of an empty file"

logs=${K2HFT_LOGS:-../shared/logs}
[ -d "$logs" ] || {
	echo "no $logs: real logs were not tried"
	exit 0
}
for file in "$logs"/*; do
	$push -t "logs/${file##*/}" "$file" || fail "push $file"
	cmp "$file" "$dir/out/logs/${file##*/}" || fail "$file differs"
done
