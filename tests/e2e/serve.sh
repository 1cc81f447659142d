#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft serve: a page, metrics, a state, and a health that is 503 while records wait and nobody takes them.
. tests/tools/mount.sh
k2hft=$bin/k2hft
serving=
trap 'code=$?; [ -z "$serving" ] || kill "$serving" 2>/dev/null; clean' EXIT

# ask PATH [METHOD [HOST]]: the status in $work/status, the body in $work/body
ask() {
	python3 - "$page_port" "$1" "${2:-GET}" "${3:-localhost}" "$work" <<'END'
import http.client, sys
port, path, method, host, work = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
connection.request(method, path, headers={"Host": host})
answer = connection.getresponse()
open(work + "/body", "wb").write(answer.read())
open(work + "/status", "w").write(f"{answer.status}\n")
END
}
# answers PATH STATUS [METHOD [HOST]]
answers() {
	status=$2
	ask "$1" "${3:-GET}" "${4:-localhost}" && [ "$(cat "$work/status")" = "$status" ]
}
# health STATUS PATTERN
# shellcheck disable=SC2317
health() { answers /health "$1" && grep -q "$2" "$work/body"; }

fixed_port=yes
start_receiver
start_mount
"$k2hft" serve --listen 127.0.0.1:0 --interval 200 "$mnt" 2>"$work/serve.err" &
serving=$!
# shellcheck disable=SC2317
port_said() {
	page_port=$(sed -n 's/.*answering HTTP on 127.0.0.1 port //p' "$work/serve.err")
	[ -n "$page_port" ]
}
until_true 20 port_said || fail "nobody listens"
echo first >"$sent/log"
until_true 20 health 200 "^$mnt: fine: nothing waits\$" || fail "$(cat "$work/status" "$work/body")"

stop_receiver
seq 1 500 >"$sent/log"
until_true 20 health 503 "^$mnt: 50[01] records of 1 file wait since .*: 127.0.0.1:$port is not connected" ||
	fail "$(cat "$work/status" "$work/body")"
answers /metrics 200 || fail "/metrics"
for line in 'k2hft_up{target="'"$mnt"'"} 1' 'k2hft_stuck{target="'"$mnt"'"} 1' 'k2hft_connected{target="'"$mnt"'"} 0' \
	'k2hft_backlog_records{target="'"$mnt"'"} 500' \
	'k2hft_stream_backlog_records{target="'"$mnt"'",stream="senddir/log",sender=""} 500'; do
	grep -qxF "$line" "$work/body" || fail "no $line in $(grep -v '^#' "$work/body" | head -n 20)"
done
# A name has one TYPE, and all of its samples behind it.
awk '/^# TYPE/ { if (seen[$3]++) exit 1; name = $3 } !/^#/ { split($0, part, "{"); if (part[1] != name) exit 1 }' \
	"$work/body" || fail "not in the form of Prometheus"
# Each stands in the manual; those of counters do as tests/man/stat_page.sh wants it.
"${B:-build}/bin/k2hft" stat --table | awk -F '\t' '{ print "k2hft_" $1 "_" $2 ($3 == "counter" ? "_total" : "") }' >"$work/known"
sed -n 's/^\.B \(k2hft_[a-z_]*\)$/\1/p' man/man1/k2hft-serve.1 >>"$work/known"
sed -n 's/^# TYPE \([a-z0-9_]*\) .*/\1/p' "$work/body" | grep -vxFf "$work/known" && fail "metrics without a manual"
if command -v promtool >/dev/null; then
	promtool check metrics <"$work/body" >"$work/promtool" 2>&1 || fail "$(cat "$work/promtool")"
fi
answers /status 200 || fail "/status"
python3 -c 'import json, sys
target = json.load(open(sys.argv[1]))["targets"][0]
assert target["verdict"] == "stuck" and target["status"]["backlog"]["records"] == 500, target' "$work/body" || fail "/status"
start_receiver
until_true 20 health 200 "^$mnt: fine: nothing waits\$" || fail "$(cat "$work/status" "$work/body")"

kill -STOP "$receiver_pid"
seq 1 500 >"$sent/log"
until_true 20 health 503 "^$mnt: 500 records of 1 file wait since .*: 127.0.0.1:$port is connected, but has acknowledged nothing for " ||
	fail "$(cat "$work/status" "$work/body")"
kill -CONT "$receiver_pid"
until_true 20 health 200 "^$mnt: fine: nothing waits\$" || fail "$(cat "$work/status" "$work/body")"

answers / 200 || fail "/"
cmp -s "$work/body" lib/app/program/page.html || fail "another page"
# Nothing of the page comes from elsewhere.
grep -qE 'src=|https?://|@import' "$work/body" && fail "the page asks others"
answers / 200 HEAD || fail "HEAD"
[ -s "$work/body" ] && fail "HEAD has a body"
answers /nothing 404 || fail "404"
answers /status 421 GET example.org || fail "any name may lead here"
kill -STOP "$mount_pid"
for worker in $(pgrep -P "$mount_pid"); do kill -STOP "$worker"; done
until_true 30 health 503 "^$mnt: no answer in time" || fail "$(cat "$work/status" "$work/body")"
for worker in $(pgrep -P "$mount_pid"); do kill -CONT "$worker"; done
kill -CONT "$mount_pid"
until_true 30 health 200 fine || fail "it does not come back"

"$k2hft" serve --listen "127.0.0.1:$page_port" 2>"$work/said"
[ $? = 1 ] || fail "two on a port"
kill "$serving"
wait "$serving" || fail "status $? of k2hft serve"
serving=
stop_mount || fail "status $? of k2hftfuse"
exit 0
