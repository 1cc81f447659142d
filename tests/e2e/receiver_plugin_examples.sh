#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples of plug-ins, and jq, do what they say.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
[ -x "${B:-build}/examples/plugin_filter" ] || skip "the examples are not built here"
filter=$(realpath "${B:-build}/examples/plugin_filter")

# makes PLUGIN, FORMAT, wanted text on standard input
makes() {
	cat >"$dir/wanted"
	rm -rf "$dir/out"
	receiver_config "PLUGIN = $1" "FORMAT = $2"
	receiver_start
	sends "ring$3 1 0" log 'an error here' 'nothing' 'the last error'
	receiver_stop TERM
	cmp "$dir/wanted" "$dir/out/log" || fail "$1: $(cat "$dir/out/log")"
}

makes "$filter error" '%L' 1 <<END
AN ERROR HERE
THE LAST ERROR
END
makes "$(realpath examples/plugin_filter.py) error" '%L' 2 <<END
AN ERROR HERE
THE LAST ERROR
END
[ -x /usr/bin/jq ] || skip "no jq"
makes "/usr/bin/jq -c --unbuffered '{file: .f, text: .t}'" "'{\"f\": \"%F\", \"t\": \"%l\"}\\n'" 3 <<END
{"file":"log","text":"an error here"}
{"file":"log","text":"nothing"}
{"file":"log","text":"the last error"}
END
exit 0
