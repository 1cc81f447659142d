#!/bin/sh
# SPDX-License-Identifier: MIT
# YAML and JSON say the same as INI; what is wrong in them is named with its line; what is hostile is refused.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
k2hft=${B:-build}/bin/k2hft
fail()
{
	echo "$*" >&2
	exit 1
}

printed()
{
	"$k2hft" check --print "$1" 2>/dev/null | grep -v '^#'
}
cat >"$dir/a.ini" <<'EOF'
[GLOBAL]
PORT = 8020
SSL = no
MAXCHMPX = 5
[SVRNODE]
NAME = localhost
[K2HFTFUSE]
K2HTYPE = mem
RINGSIZE = 1M
[K2HFTFUSE_RULE_DIR]
TARGET = senddir
TRUNS = on
DEFAULTALL = DENY
ALLOW = some\ text
ALLOW = "(.*)[wW]arn(.*)"
ALLOW = "^a\"b", "$0"
[K2HFTFUSE_RULE]
TARGET = one
[K2HFTFUSESVR]
FILE_BASEDIR = /none/x
FILE_MODE = 0640
FORMAT = '{"m":"%J"}\n'
EOF
cat >"$dir/a.yaml" <<'EOF'
GLOBAL: {PORT: 8020, SSL: no, MAXCHMPX: 5}
SVRNODE:
  - NAME: localhost
K2HFTFUSE:
  K2HTYPE: mem
  K2HFTFUSE_RULE_DIR:
    - TARGET: senddir
      TRUNS: on
      DEFAULTALL: DENY
      ALLOW:
        - some text
        - (.*)[wW]arn(.*)
        - ['^a"b', $0]
  K2HFTFUSE_RULE:
    TARGET: one
  RINGSIZE: 1M
K2HFTFUSESVR:
  FILE_BASEDIR: /none/x
  FILE_MODE: 0640
  FORMAT: "{\"m\":\"%J\"}\n"
EOF
cat >"$dir/a.json" <<'EOF'
{
	"GLOBAL": {"PORT": 8020, "SSL": false, "MAXCHMPX": 5},
	"SVRNODE": [{"NAME": "localhost"}],
	"K2HFTFUSE": {
		"K2HTYPE": "mem", "RINGSIZE": "1M",
		"K2HFTFUSE_RULE_DIR": [
			{"TARGET": "senddir", "TRUNS": true, "DEFAULTALL": "DENY",
			 "ALLOW": ["some text", "(.*)[wW]arn(.*)", ["^a\"b", "$0"]]}
		],
		"K2HFTFUSE_RULE": [{"TARGET": "one"}]
	},
	"K2HFTFUSESVR": {"FILE_BASEDIR": "/none/x", "FILE_MODE": "640", "FORMAT": "{\"m\":\"%J\"}\n"}
}
EOF
{ printf '\357\273\277' && sed 's/$/\r/' "$dir/a.yaml"; } >"$dir/a.YML"
printed "$dir/a.ini" >"$dir/wanted"
grep -q '^TARGET = "senddir"' "$dir/wanted" || fail "$(cat "$dir/wanted")"
for form in yaml YML json; do
	printed "$dir/a.$form" >"$dir/got"
	cmp -s "$dir/wanted" "$dir/got" || fail "$form: $(diff "$dir/wanted" "$dir/got")"
done
# Words that YAML has a meaning for: no value is none, and in a text or a pattern they are the text.
cat >"$dir/words.yaml" <<'EOF'
GLOBAL: {PORT: 8020, SSL: False}
SVRNODE: {NAME: localhost}
K2HTPDTOR: null
K2HFTFUSE:
  K2HFTFUSE_RULE_DIR: {TARGET: true, TRUNS: TRUE, OUTPUTFILE: null, PLUGIN: null, ALLOW: [true, ~, null]}
K2HFTFUSESVR: {FILE_BASEDIR: /none/x, FORMAT: ~, FILE_UNIFY: null}
EOF
printed "$dir/words.yaml" >"$dir/got"
for line in 'SSL = no' 'TARGET = "true"' 'TRUNS = yes  # default no' 'ALLOW = true' 'ALLOW = ~' 'ALLOW = null' \
	'FORMAT = "%L"  # default %L'; do
	grep -qxF "$line" "$dir/got" || fail "no $line: $(cat "$dir/got")"
done
! grep -q '"null"' "$dir/got" || fail "null is text: $(cat "$dir/got")"
printed "$(cat "$dir/a.json")" | cmp -s "$dir/wanted" - || fail "JSON as a word"
[ "$("$k2hft" check '{"K2HFTFUSE": {}}' | tail -n 1)" = '(JSON): 1 error, 0 without effect' ] || fail "JSON in the last line"

# refused LINE WORDS: what standard input says is refused with these in that line.
refused()
{
	cat >"$dir/bad.yaml"
	"$k2hft" check "$dir/bad.yaml" >"$dir/out" 2>&1
	[ $? = 2 ] || fail "taken: $(cat "$dir/bad.yaml")"
	grep -q "^$dir/bad.yaml:$1: error: .*$2" "$dir/out" || fail "wanted line $1, $2; got: $(cat "$dir/out")"
}
printf 'GLOBAL:\n  PORT: 99999\n' | refused 2 'PORT = 99999 is out of range' || exit 1
printf 'GLOBAL:\n  PROT: 1\n' | refused 2 'did you mean PORT' || exit 1
printf 'GLOBL:\n  PORT: 1\n' | refused 2 'did you mean .GLOBAL' || exit 1
printf 'GLOBAL:\n  PORT: 1\n  port: 2\n' | refused 3 'said twice' || exit 1
printf 'GLOBAL:\n  PORT: [1, 2]\n' | refused 2 'GLOBAL.PORT: a list' || exit 1
printf 'GLOBAL:\n  PORT:\n    A: 1\n' | refused 3 'GLOBAL.PORT: a mapping' || exit 1
printf 'GLOBAL: 5\n' | refused 1 'GLOBAL: a section must be' || exit 1
printf '[1]\n' | refused 1 'mapping of sections' || exit 1
printf 'GLOBAL:\n\tPORT: 1\n' | refused 2 'not YAML or JSON' || exit 1
printf 'GLOBAL: &a\n  PORT: 1\n' | refused 1 'aliases, anchors and tags' || exit 1
printf 'GLOBAL:\n  PORT: *a\n' | refused 2 'aliases, anchors and tags' || exit 1
printf 'GLOBAL: !!map {}\n' | refused 1 'aliases, anchors and tags' || exit 1
printf 'GLOBAL: {}\n---\nGLOBAL: {}\n' | refused 2 'second document' || exit 1
printf 'GLOBAL: {}\n# \377\n' | refused 2 'not YAML or JSON' || exit 1
printf 'GLOBAL:\n  DATE: a\000b\n' | refused 2 'not YAML or JSON' || exit 1
printf 'GLOBAL:\n  DATE: "a\\0b"\n' | refused 2 'NUL' || exit 1
printf 'SVRNODE:\n  NAME: "a\\nb"\n' | refused 2 'SVRNODE.NAME: a control character' || exit 1
printf '[[[[[[[[[[[[[[[[[[[[[[[[' | refused 1 'nested' || exit 1
printf 'K2HFTFUSE:\n  K2HFTFUSE_RULE:\n    ALLOW: ["\\"x"]\n' | refused 3 'quotes of an expression' || exit 1
head -c 1100000 /dev/zero | tr '\0' '#' >"$dir/large.yaml"
"$k2hft" check "$dir/large.yaml" | grep -q 'more than 1048576 bytes' || fail 'a large file is taken'
