#!/bin/sh
# SPDX-License-Identifier: MIT
# FORMAT with %J gives one valid JSON object for each record, whatever bytes it has.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
head -c 1000000 /dev/urandom >"$dir/random"
receiver_config 'FILE_UNIFY = all' 'FILE_TIMEFORM = "%F %T.%-"' \
	"FORMAT = '{\"time\":\"%T\",\"host\":\"%H\",\"path\":\"%F\",\"message\":\"%J\"}\\n'"
receiver_start
{
	printf '%s\n' 'hello ring 1 0' welcome 'stream 1 text a"b\c' "file 1 $dir/random"
	id=1
	for log in ../shared/logs/*.log; do
		[ -e "$log" ] || continue
		id=$((id + 1))
		printf '%s\n' "stream $id text ${log##*/}" "file $id $log"
	done
	printf '%s\n' ack bye
} | wire >"$dir/said" || fail "sending"
receiver_stop TERM
# By standard input: json.tool of Python 3.13 closes a file before it reads it.
python3 -m json.tool --json-lines <"$dir/out/all" >/dev/null || fail "not valid: $(head -c 300 "$dir/out/all")"
lines=$(wc -l <"$dir/random")
got=$(grep -ac '"path":"a' "$dir/out/all")
[ "$got" -ge "$lines" ] || fail "$got of $lines records"
