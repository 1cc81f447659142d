#!/bin/sh
# SPDX-License-Identifier: MIT
# Over TLS each file is byte for byte what was sent, though the receiver is killed and restarted in the middle of it; a
# directory of authorities will do.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc
authority root
certificate receiver root IP:127.0.0.1,DNS:localhost
mkdir "$dir/in" "$dir/authorities"
cp "$dir/root.pem" "$dir/authorities"
openssl rehash "$dir/authorities"
printf x >"$dir/in/byte"
printf 'no line end' >"$dir/in/no-lf"
printf 'a\r\nb\n\n\n\000\377\376\n' >"$dir/in/controls"
head -c 3000000 /dev/urandom >"$dir/in/random"
seq 400000 >"$dir/in/numbers"
for log in ../shared/logs/*.log; do
	[ ! -e "$log" ] || cp "$log" "$dir/in/"
done

tls_config "SERVER_CERT = $dir/receiver.pem" "SERVER_PRIKEY = $dir/receiver.key"
receiver_start
for file in "$dir"/in/*; do
	push --ca "$dir/root.pem" "$file" || fail "push ${file##*/}: $(cat "$dir/pushed")"
	cmp "$file" "$dir/out/${file##*/}" || fail "${file##*/} differs"
done
host=localhost push --ca "$dir/authorities" -t directory "$dir/in/numbers" || fail "directory: $(cat "$dir/pushed")"
cmp "$dir/in/numbers" "$dir/out/directory" || fail "directory differs"

# A sender that is slow enough to be met.
for round in 1 2 3 4 5 6 7 8; do
	echo "round $round"
	cat "$dir/in/numbers"
	sleep 0.1
done | push --ca "$dir/root.pem" -t restarted &
sender=$!
for kill in 1 2 3; do
	size=$(stat -c %s "$dir/out/restarted" 2>/dev/null || echo 0)
	while kill -0 $sender 2>/dev/null && [ "$(stat -c %s "$dir/out/restarted" 2>/dev/null || echo 0)" = "$size" ]; do
		sleep 0.01
	done
	receiver_stop KILL
	receiver_start
	echo "killed $kill times"
done
wait $sender || fail "restarted: $(cat "$dir/pushed")"
for round in 1 2 3 4 5 6 7 8; do
	echo "round $round"
	cat "$dir/in/numbers"
done | cmp - "$dir/out/restarted" || fail "restarted differs"
receiver_stop TERM
