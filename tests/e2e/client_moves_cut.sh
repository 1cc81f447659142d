#!/bin/sh
# SPDX-License-Identifier: MIT
# A link that swallows everything, to a receiver that lives on: another receiver takes over. The link is mended, and the
# receiver, which has what was on its way, is settled and gets the ring back.
# shellcheck source=tests/tools/moving.inc
if [ -z "${K2HFT_ALONE:-}" ]; then
	unshare -n true 2>/dev/null || {
		echo "SKIP: no right to make a network namespace"
		exit 77
	}
	K2HFT_ALONE=1 exec unshare -n "$0"
fi
. tests/tools/moving.inc
ip link set lo up
unshare -n sleep 120 9>&- &
far=$!
trap 'code=$?; kill $far; moving_cleanup; exit $code' EXIT
# It is in a network of its own only once unshare(1) has got there.
elsewhere() { [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; }
wait_until elsewhere
ip link add near type veth peer name far netns $far
ip addr add 10.9.9.1/24 dev near
ip link set near up
nsenter -t $far -n ip addr add 10.9.9.2/24 dev far
nsenter -t $far -n ip link set far up
# The first receiver is on the other side.
printf '%s\n' '[GLOBAL]' 'PORT = 8020' 'SSL = no' '[K2HFTFUSESVR]' 'TYPE = file' "FILE_BASEDIR = $dir/1" >"$dir/conf.1"
nsenter -t $far -n "$bin/bin/k2hftfusesvr" -conf "$dir/conf.1" --listen 10.9.9.2:8020 2>"$dir/1.log" &
# shellcheck disable=SC2034 # for moving.inc
pid_1=$! port_1=8020
receivers=1
wait_until grep -q 'listening on' "$dir/1.log"
up 2
sender -h 10.9.9.2 -w "$dir/ring" 1000
feed 2000
wait_until has 1 100
for _ in 1 2; do
	before=$(lines_of 2)
	nsenter -t $far -n ip link set far down
	feed 6000
	wait_until has 2 $((before + 100))
	nsenter -t $far -n ip link set far up
	feed 2000
	wait_until grep -q "moved from .* 10.9.9.2:8020 .*answers again" "$dir/sender.log"
	: >"$dir/sender.log"
	feed 1000
done
sender_end
grep -q 'moves 4 .* unsettled 0 target 0' "$dir/said" || fail "moves"
expect_once
