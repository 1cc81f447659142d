#!/bin/sh
# SPDX-License-Identifier: MIT
# The configuration that K2HFTFUSE was measured with loads without an error, every key in it known.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/receiver.ini" <<'END'
[GLOBAL]
FILEVERSION			= 1
DATE				= Thu, 03 Sep 2015 17:27:28 +0900
GROUP				= K2HFUSETEST
MODE				= SERVER
DELIVERMODE			= random
MQACK				= no
SOCKTHREADCNT			= 8
PORT				= 8020
CTLPORT				= 8021
SSL				= no
K2HPAGESIZE			= 5000
[SVRNODE]
NAME				= logs.example
SSL				= no
[SLVNODE]
NAME				= [.]*
CTLPORT				= 8022
[K2HFTFUSESVR]
TYPE				= file
FILE_BASEDIR			= /none/k2hftfusesvr
FILE_TIMEFORM			= "%F %T.%-"
FORMAT				= "%L"
FILE_UNIFY			= log/unify.log
END
cat >"$dir/sender.ini" <<'END'
[GLOBAL]
MODE				= SLAVE
PORT				= 8020
SOCKTHREADCNT			= 0
[SVRNODE]
NAME				= logs.example
CTLPORT				= 8021
[K2HTPDTOR]
K2HTPDTOR_BROADCAST		= no
K2HTPDTOR_FILTER_TYPE		= DELKEY
[K2HFTFUSE]
K2HTYPE				= mem
K2HMASKBIT			= 8
DTORTHREADCNT			= 2
BINTRANS			= no
TRANSLINECNT			= 10000
TRANSTIMEUP			= 10
BYTELIMIT			= 0
[K2HFTFUSE_RULE_DIR]
TARGET          = senddir
TRUNS           = on
DEFAULTALL      = ALLOW
END
"${B:-build}/bin/k2hft" check "$dir/receiver.ini" "$dir/sender.ini" >"$dir/out"
grep -q "receiver.ini: 0 errors, 8 without effect" "$dir/out"
grep -q "sender.ini: 0 errors, 5 without effect" "$dir/out"
