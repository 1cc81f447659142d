#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify: wrong arguments give status 2 and say what is wrong, before anything is written.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
# wrong TEXT ARG...
wrong() {
	text=$1
	shift
	reads 2 "$@"
	says "$text"
}
file=$dir/file
wrong 'a file is needed'
wrong "unrecognized option '--foo'" --foo "$file"
wrong '--rate is for --make' --rate 5 "$file"
wrong '--only is not for --make' --make --only "$file"
wrong '--json or --table' --json --table "$file"
for text in 3 =3 1= x=3 0=3 65536=3 1=-1 1=1x; do
	wrong 'PRODUCER=COUNT is needed' --expect "$text" "$file"
done
wrong '--expect-all -1: a number' --expect-all -1 "$file"
wrong '--first 0: a number' --first 0 "$file"
wrong '--run xyz: 6 hexadecimal digits' --run xyz "$file"
wrong 'records are numbered' --first 999999999999999999 --expect-all 2 "$file"
wrong 'records are numbered' --first 999999999999999998 --expect 1=3 --expect 2=1 "$file"
wrong 'one file to write to is needed' --make
wrong 'one file to write to is needed' --make "$file" "$file"
for size in 9 65M 30-20 x 10-x -5 30- 1G; do
	wrong 'one or two lengths are needed' --make --size "$size" "$file"
done
wrong 'less than 24 bytes' --make --size 10 -n 16777216 "$file"
wrong 'less than 24 bytes' --make --size 10 --producers 64 "$file"
wrong 'producers are numbered 1 to 65535' --make --producer 65535 --producers 2 "$file"
wrong '--seconds 0: a number' --make --seconds 0 "$file"
wrong 'a receiver and -t' --make -t x "$file"
wrong 'a receiver and -t' --make -r localhost "$file"
wrong '--receiver other: it was given before' --make -r localhost -r other -t y
wrong '--run b: it was given before' --run a --run b "$file"
wrong 'one of -r, -c and --attach' --make -r localhost -c x -t y
wrong 'HOST or HOST:PORT' --make -r localhost:0 -t y
wrong 'not by a file' --make -r localhost -t y "$file"
wrong 'relative path' --make -r localhost -t ../y
wrong 'about files' --make -r localhost -t y --append-each
wrong '--ring goes with' --make --ring x "$file"
wrong '--write-bytes tears' --make --write-bytes 7 --shared "$file"
[ ! -e "$file" ] || fail "something was written"
# A wrong configuration, as elsewhere.
printf '[GLOBAL]\nPORT = many\n' >"$dir/wrong.ini"
wrong 'wrong.ini:2:' --make -c "$dir/wrong.ini" -t y
wrong 'missing.ini: No such file' --make -c "$dir/missing.ini" -t y
# A ring that can't be attached to, with the reason.
: >"$dir/empty"
reads 1 --make --attach "$dir/empty" -t y
says "empty: it is not a ring that this version knows"
reads 1 --make --attach "$dir/missing" -t y
says "missing: No such file"
"$k2hft" push -q -r 127.0.0.1:9 --timeout 0 --ring "$dir/ring" "$dir/empty" >"$dir/said" 2>&1
reads 1 --make --attach "$dir/ring" -t y
says "ring: it is a ring that no process sends from now"
"$k2hft" help verify | grep -q -e '--expect-all COUNT' || fail "no help"
