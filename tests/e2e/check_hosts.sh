#!/bin/sh
# SPDX-License-Identifier: MIT
# Ports, URLs and networks in place of a host are errors with their place; NAME of SLVNODE takes networks and lists, and is
# warned of where no host has such a name.
# shellcheck source=tests/tools/said.inc
. tests/tools/said.inc
# TEXT LINE...: a receiver's file with these lines first has that finding, or with '' none.
finds() {
	text=$1 none=
	shift
	printf '%s\n' "$@" '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'FILE_BASEDIR = /none/x' >"$dir/a.ini"
	"$k2hft" check "$dir/a.ini" >"$dir/said"
	[ -n "$text" ] || text=': 0 errors, 0 without effect' none=1
	grep -qF "a.ini$text" "$dir/said" || fail "no $text"
	[ -z "$none" ] || [ "$(wc -l <"$dir/said")" = 1 ] || fail "$*"
}
finds ':2: error: NAME = h:8020: use a host name or an address; PORT has the port' '[SVRNODE]' 'NAME = h:8020'
finds ':2: error: NAME = tcp://h is a network or a URL' '[SVRNODE]' 'NAME = tcp://h'
finds ':2: error: NAME = 10.0.0.0/8 is a network or a URL' '[SVRNODE]' 'NAME = 10.0.0.0/8'
finds ':2: error: LISTEN = [::1]:8020: use a host' '[K2HFTFUSESVR]' 'LISTEN = [::1]:8020'
finds ':2: error: CTLADDRESS = a:1: use a host name or an address; CTLPORT' '[K2HFTFUSESVR]' 'CTLADDRESS = a:1'
finds '' '[SVRNODE]' 'NAME = [::1]'
finds '' '[SLVNODE]' 'NAME = 127.0.0.0/8, 10.0.0.0/255.0.0.0, ::1/128, h[1-3,5].example, 192.0.2.1'
finds ':1: error: NAME of [SLVNODE]: 10.0.0.0/33 is no name, no address and no network as' '[SLVNODE]' 'NAME = 10.0.0.0/33'
finds ':1: error: NAME of [SLVNODE]: 10.0.0.0/255.0.255.0 is no' '[SLVNODE]' 'NAME = 10.0.0.0/255.0.255.0'
finds ':1: error: NAME of [SLVNODE]: web* is no name' '[SLVNODE]' 'NAME = db1, web*'
finds ':1: warning: NAME of [SLVNODE]: no host is called 127.0.0.: ' '[SLVNODE]' 'NAME = 127.0.0.'
finds ':1: warning: NAME of [SLVNODE]: no host is called .example: ' '[SLVNODE]' 'NAME = .example'
finds ':1: warning: NAME of [SLVNODE]: no host is called localhost:8020: ' '[SLVNODE]' 'NAME = localhost:8020'
# What a mount can't have, a program can.
printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[SVRNODE]' 'NAME = h[1-65]' '[K2HFTFUSE]' >"$dir/a.ini"
ends 0 "$k2hft" check "$dir/a.ini"
printf '%s\n' '[K2HFTFUSE_RULE_DIR]' 'TARGET = a' 'TRUNS = on' >>"$dir/a.ini"
ends 2 "$k2hft" check "$dir/a.ini"
says 'a.ini:3: error: a mount can have 64 receivers'
