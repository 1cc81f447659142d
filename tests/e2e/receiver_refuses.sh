#!/bin/sh
# SPDX-License-Identifier: MIT
# Broken rules: an ERROR with its code, one line that names the peer, the connection closed, nothing of the frame taken,
# what came before acknowledged.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start

# NAME CODE, the script on standard input
refused() {
	{
		printf '%s\n' "hello $1 1 0" welcome "stream 1 text $1" 'chunk 1 0 good\n' flush
		cat
		printf '%s\n' error closed
	} | wire >"$dir/said" || fail "$1: $(cat "$dir/said")"
	grep -q "^error $2 " "$dir/said" || fail "$1: $(cat "$dir/said")"
	printf 'good\n' | cmp - "$dir/out/$1" || fail "$1: file"
}

refused checksum 3 <<END
chunk 1 0 bad\n
damage 77
flush
END
refused gap 7 <<END
position 200
chunk 1 0 bad\n
flush
END
refused overlap 1 <<END
position 8
chunk 1 0 bad\n
flush
END
refused undeclared 1 <<END
chunk 1 0 bad\n
chunk 2 0 bad\n
flush
END
refused window 6 <<END
gap 1073741824
position 1073741864
chunk 1 0 bad\n
flush
END
refused greeting 1 <<END
hello again 1 0
END
refused magic 1 <<END
raw 00112233445566778899
END
logged 'wirehost (127.0.0.1:[0-9]*) refused: a frame.s checksum is wrong' || fail "no line about the checksum"

# Another protocol gets no answer, and is noticed at its first bytes.
printf 'raw 474554202f20\nclosed\n' | wire >"$dir/said" || fail "http"
[ "$(cat "$dir/said")" = closed ] || fail "http: $(cat "$dir/said")"
logged 'speaks another protocol' || fail "no line about the protocol"

kill -USR1 "$pid"
wait_until logged 'protocol_errors=7 limit_errors=1 position_errors=1 checksum_errors=1\>'
receiver_stop TERM
