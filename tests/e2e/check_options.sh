#!/bin/sh
# SPDX-License-Identifier: MIT
# A mistyped option of any program gets a suggestion; JSON of a command line may have its commas escaped twice.
# shellcheck source=tests/tools/said.inc
. tests/tools/said.inc
bin=${B:-build}/bin
suggests() { # TEXT COMMAND...
	text=$1
	shift
	ends 2 "$@" </dev/null
	says "$text"
}
suggests 'Did you mean --stream?' "$k2hft" push --straem=x -r localhost
suggests 'Did you mean --quiet?' "$k2hft" check --qiet x
suggests 'Did you mean --metrics?' "$k2hft" stat --metrisc x
suggests 'Did you mean --seconds?' "$k2hft" bench --secons 1
suggests 'Did you mean --producers?' "$k2hft" verify --producres 1 x
suggests 'Did you mean --direct?' "$k2hft" testio --dirct .
suggests 'did you mean --listen?' "$bin/k2hftfusesvr" --lisen a:1
suggests 'did you mean -conf?' "$bin/k2hftfusesvr" -cnof x
suggests 'did you mean --debug' "$bin/k2hftfuse" "$dir" --debgu
suggests 'did you mean conf=' "$bin/k2hftfuse" "$dir" -o cnof=x
"$k2hft" push --stream 2>&1 | grep -q 'Did you mean' && exit 1

# Both reach the configuration itself, and what is wrong there.
for json in '{GLOBAL: {PORT: 0\\, SSL: no}\\, SVRNODE: {NAME: a}}' '{GLOBAL: {PORT: 0\, SSL: no}\, SVRNODE: {NAME: a}}'; do
	suggests '(JSON):1: PORT = 0 is out of range' "$bin/k2hftfuse" "$dir" -f -o "json=$json"
	suggests '(JSON):1: PORT = 0 is out of range' "$bin/k2hftfuse" "$dir" -f -o "conf=$json"
done
suggests '(JSON):1: PORT = 0 is out of range' "$bin/k2hftfusesvr" -conf ' {GLOBAL: {PORT: 0, SSL: no}}'
