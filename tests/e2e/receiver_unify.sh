#!/bin/sh
# SPDX-License-Identifier: MIT
# Three senders at once into one file: each one's lines are all there, once, in their order, and none is broken, also
# those that are longer than a chunk and those without line end.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config 'FILE_UNIFY = log/%Y.log'
receiver_start
senders=
for name in a b c; do
	awk -v name=$name 'BEGIN {
		for (i = 1; i <= 60000; i++) {
			line = name " " i " "
			for (n = i % 7; n > 0; n--)
				line = line "0123456789"
			if (i % 20000 == 0)
				for (n = 0; n < 30000; n++)
					line = line "long"
			print line
		}
		printf "%s the end", name
	}' >"$dir/in.$name"
	wire >"$dir/said.$name" <<-END &
		hello ring$name 1 0
		welcome
		stream 1 text x/$name
		frame 100000
		file 1 $dir/in.$name
		ack
		bye
	END
	senders="$senders $!"
done
for sender in $senders; do
	wait "$sender" || fail "a sender"
done
receiver_stop TERM
file=$dir/out/log/$(date +%Y).log
# Long lines can be cut where another sender came between: their parts are lines.
for name in a b c; do
	echo >>"$dir/in.$name"
	grep -av long "$dir/in.$name" >"$dir/wanted"
	grep -a "^$name " "$file" | grep -av long | cmp - "$dir/wanted" || fail "lines of $name"
done
[ "$(grep -aco long "$file")" -ge 9 ] || fail "long lines"
wanted=$(cat "$dir"/in.? | tr -d '\n' | wc -c)
[ "$(tr -d '\n' <"$file" | wc -c)" = "$wanted" ] || fail "bytes"
grep -avE '^[abc] [0-9t]|^[long]*$' "$file" >"$dir/odd" && fail "a broken line: $(head -c 200 "$dir/odd")"
exit 0
