#!/bin/sh
# SPDX-License-Identifier: MIT
# The units give no more than their programs need, and systemd understands all of them; those of OpenRC are scripts of sh.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for script in packaging/openrc/*; do
	sh -n "$script"
done
command -v systemd-analyze >/dev/null || {
	echo "SKIP: no systemd-analyze"
	exit 77
}
bin=$(cd "${B:-build}/bin" && pwd)
for unit in packaging/systemd/*.in; do
	name=${unit##*/}
	name=${name%.in}
	sed "s|@bindir@|$bin|; /^Documentation=/d" "$unit" >"$dir/$(echo "$name" | sed 's/@/@instance/')"
done
SYSTEMD_UNIT_PATH=$dir: systemd-analyze verify "$dir"/k2hft* >"$dir/said" 2>&1 || status=$?
# Units of the distribution have mistakes of their own.
if grep k2hft "$dir/said" || [ "${status:-0}" != 0 ]; then
	cat "$dir/said"
	exit 1
fi
systemd-analyze security --help | grep -q -e --offline || {
	echo "SKIP: systemd-analyze is too old for --offline"
	exit 77
}
# secure UNIT TENTHS: its exposure is below
secure()
{
	systemd-analyze security --no-pager --offline=yes --threshold=$(($2 - 1)) "$dir/$1" >"$dir/said" 2>&1 || {
		cat "$dir/said"
		exit 1
	}
}
secure k2hftfusesvr.service 20
secure k2hftfuse@instance.service 60
