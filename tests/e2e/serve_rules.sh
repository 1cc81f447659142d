#!/bin/sh
# SPDX-License-Identifier: MIT
# The alerts and the dashboard in examples/ ask for metrics that there are, and promtool takes the alerts.
set -u
k2hft=${B:-build}/bin/k2hft
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
	"$k2hft" stat --table | awk -F '\t' '{ print "k2hft_" $1 "_" $2 ($3 == "counter" ? "_total" : "") }'
	sed -n 's/^\.B \(k2hft_[a-z_]*\)$/\1/p' man/man1/k2hft-serve.1
} | sort >"$work/there"
sed 's/\\[a-z]//g' examples/prometheus-rules.yml examples/grafana-dashboard.json | grep -oE 'k2hft_[a-z_]+' | sort -u >"$work/asked"
[ "$(wc -l <"$work/asked")" -gt 10 ] || exit 1
if [ -n "$(comm -13 "$work/there" "$work/asked")" ]; then
	echo "no such metrics:"
	comm -13 "$work/there" "$work/asked"
	exit 1
fi
python3 -m json.tool examples/grafana-dashboard.json >/dev/null || exit 1
command -v promtool >/dev/null || {
	echo "SKIP: no promtool"
	exit 77
}
promtool check rules examples/prometheus-rules.yml >"$work/said" 2>&1 || {
	cat "$work/said"
	exit 1
}
