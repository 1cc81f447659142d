#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that a container makes in a volume (mountPropagation: Bidirectional) is there in another one that has the volume
# since before (HostToContainer), and what is written there arrives. The commands and configurations are those of
# examples/kubernetes.yml.
[ "$(id -u)" = 0 ] || { echo "SKIP: containers of another user's are made by root"; exit 77; }
. tests/tools/mount.sh
start_receiver
mkdir "$work/volume" "$work/program"
app=
sidecar=
trap 'code=$?; kill $app $sidecar 2>/dev/null; umount -l "$work/volume/app" "$work/volume" 2>/dev/null; clean' EXIT
unshare -m true || { echo "SKIP: no right to make a mount namespace"; exit 77; }
# The volume, as the kubelet has it.
mount --bind "$work/volume" "$work/volume"
mount --make-shared "$work/volume" || fail "volume"
mkdir "$work/volume/app"
# document NAME: a file of the ConfigMap
document() {
	sed -n "/^  $1: |\$/,/^ \{0,2\}[^ ]/s/^    //p" examples/kubernetes.yml
}
document sender.ini | sed "s/^NAME = .*/NAME = 127.0.0.1/; s/^PORT = .*/PORT = $port/; s|/var/lib/k2hft|$work|; s/256M/1M/" >"$work/sender.ini"
"$bin/k2hft" check --strict "$work/sender.ini" || fail "sender.ini"
document server.ini >"$work/server.ini"
"$bin/k2hft" check --strict "$work/server.ini" || fail "server.ini"
# The program's container: it has the volume before the mount is there.
timeout 60 unshare -m --propagation slave sh -c "
	mount --rbind '$work/volume' '$work/program'
	touch '$work/waits'
	until grep -q ' $work/program/app fuse' /proc/self/mounts; do sleep 0.1; done
	echo line >>'$work/program/app/app.log' && sync '$work/program/app/app.log'" &
app=$!
until_true 20 test -e "$work/waits" || fail "no container of the program"
command=$(sed -n 's/.*command: \[\(k2hftfuse, .*\)\]/\1/p' examples/kubernetes.yml | tr -d '",' | sed "s|-o .*|-o allow_other,conf=$work/sender.ini|; s|/logs|$work/volume|")
# The words are the command's.
# shellcheck disable=SC2086
unshare -m --propagation unchanged sh -c 'exec "$@"' sh "$bin/"$command 2>"$work/mount.err" &
sidecar=$!
wait $app || fail "the program ended with $?"
app=
echo line >"$work/expected"
arrives "$work/expected" app.log
kill $sidecar
wait $sidecar || fail "the sidecar ended with $?"
sidecar=
