#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx writes the same logs to a mount and to another file system, each line at once, gathered and compressed; they are
# renamed and it is told to open them again: what arrives is what the other files have, one after the other.
. tests/tools/mount.sh
PATH=$PATH:/usr/sbin:/sbin
command -v nginx >/dev/null || skip "no nginx"
start_receiver
start_mount
mkdir "$work/other" "$work/temp"
web=$((port + 1))
while listens $web; do web=$((web + 1)); done
for kind in client_body proxy fastcgi uwsgi scgi; do
	echo "${kind}_temp_path $work/temp/$kind;"
done >"$work/paths.conf"
for place in "$work/other" "$sent"; do
	echo "access_log $place/plain.log lines;"
	echo "access_log $place/gathered.log lines buffer=4k flush=1s;"
	echo "access_log $place/packed.log lines gzip=4 buffer=4k flush=1s;"
done >"$work/logs.conf"
cat >"$work/nginx.conf" <<END
user $(id -un) $(id -gn);
daemon off;
worker_processes 1;
pid $work/nginx.pid;
error_log $work/nginx.err;
events { worker_connections 64; }
http {
	include $work/paths.conf;
	log_format lines '\$msec "\$request" \$status';
	include $work/logs.conf;
	server {
		listen 127.0.0.1:$web;
		return 204;
	}
}
END
nginx -c "$work/nginx.conf" -e "$work/nginx.err" &
nginx=$!
trap 'code=$?; kill $nginx 2>/dev/null; clean' EXIT
until_true 20 listens $web || fail "nginx does not listen"
cat >"$work/ask.py" <<'END'
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=50)
for number in range(200):
    connection.request("GET", f"/{sys.argv[2]}/{number}")
    connection.getresponse().read()
END
asked() {
	quick python3 "$work/ask.py" $web "$1" || fail "no answer of nginx"
}
# By the worker, which writes them: one that has not yet opened them has the renamed ones.
opened_again() {
	worker_nginx=$(cat "/proc/$nginx/task/$nginx/children")
	readlink "/proc/${worker_nginx% }/fd/"* | grep -c '/[a-z]*[.]log$' | grep -qx 6
}
for round in 1 2 3; do
	asked "$round/before"
	for place in "$work/other" "$sent"; do
		for name in plain gathered packed; do
			quick mv "$place/$name.log" "$place/$name.log.$round" || fail "mv $name.log"
		done
	done
	asked "$round/renamed"
	kill -USR1 $nginx
	until_true 20 opened_again || fail "nginx did not open its logs again"
	asked "$round/opened"
done
kill -QUIT $nginx
until_true 20 ended $nginx || fail "nginx does not end"
stop_mount || fail "status $? of k2hftfuse"
for name in plain gathered packed; do
	cat "$work/other/$name.log."[123] "$work/other/$name.log" >"$work/written"
	cmp "$work/written" "$received/senddir/$name.log" || fail "$name.log did not arrive as it was written"
done
[ "$(wc -l <"$received/senddir/plain.log")" = 1800 ] || fail "$(wc -l <"$received/senddir/plain.log") lines"
[ "$(zcat <"$received/senddir/packed.log" | wc -l)" = 1800 ] || fail "lines of packed.log"
