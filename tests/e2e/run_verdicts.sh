#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run tells passed, failed and skipped tests apart, ends what a test leaves behind and what takes too long, and
# closes with one line of counts. Signals that whoever runs it ignores are not ignored in tests.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# a_test NAME COMMAND
a_test()
{
	printf '#!/bin/sh\n# timeout: 1\n%s\n' "$2" >"$work/$1.sh"
	chmod +x "$work/$1.sh"
}

# wanted STATUS LAST NAME...: runs these tests
wanted()
{
	status=0
	wanted_status=$1 wanted_last=$2
	shift 2
	for name in "$@"; do
		set -- "$@" "$work/$name.sh"
		shift
	done
	CI=false B="$work" tests/run -t 1 "$@" >"$work/output" 2>&1 || status=$?
	cat "$work/output"
	[ $status = "$wanted_status" ]
	[ "$(tail -n 1 "$work/output")" = "$wanted_last" ]
}

a_test good 'exit 0'
a_test bad 'echo the reason; exit 3'
a_test skipped 'echo "SKIP: no such thing"; exit 77'
a_test slow 'setsid sleep 600 & echo $! >'"$work"'/slow.pid; wait'
a_test leaves 'setsid sleep 601 & echo $! >'"$work"'/leaves.pid; exit 0'
a_test interrupted "sh -c 'kill -INT \$\$; exit 3'; [ \$? = 130 ]"

wanted 0 '1 passed, 0 failed, 0 skipped' good
(
	trap '' HUP INT QUIT
	wanted 0 '1 passed, 0 failed, 0 skipped' interrupted
)
wanted 0 '1 passed, 0 failed, 1 skipped' good skipped
grep -q '^SKIP .*: no such thing$' "$work/output"
wanted 1 '1 passed, 1 failed, 0 skipped' good bad
grep -q 'the reason' "$work/output"
wanted 1 '0 passed, 2 failed, 0 skipped' slow leaves
for name in slow leaves; do
	if grep -q '^State:[^Z]*$' "/proc/$(cat "$work/$name.pid")/status" 2>/dev/null; then
		echo "a process of $name still runs"
		exit 1
	fi
done
wanted 1 '0 passed, 0 failed, 0 skipped'
