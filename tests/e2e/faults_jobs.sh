#!/bin/sh
# SPDX-License-Identifier: MIT
# The harness of tests/faults makes the same laps of a seed in one job and in two, and adds up what two jobs found; a job
# that is killed is a failure.
set -u
status=0
fail() {
	echo "FAIL: $*"
	status=1
}

# "lap kind" of each lap, and the kinds of the worlds, sorted.
laps_of() {
	sed -n 's/^\([0-9]*| \)\{0,1\} *\([0-9][0-9]*b\{0,1\} [a-z-]*\) .* records .*/\2/p; s/^\([0-9]*| \)\{0,1\}-- //p' "$1" | sort
}

run() {
	jobs=$1
	shift
	tests/faults/faults.py --seed 5 --jobs "$jobs" --no-keep --fault receiver-term --fault wire-end --fault link-throttle \
		--faults 5 "$@" >"$TMPDIR/$jobs"
	code=$?
	[ $code = 77 ] && cat "$TMPDIR/$jobs" && exit 77
	return $code
}

for jobs in 1 2; do
	run $jobs || fail "exit status $? of $jobs jobs: $(cat "$TMPDIR/$jobs")"
	grep -q '^5 faults, .* 0 failures;' "$TMPDIR/$jobs" || fail "$jobs jobs: $(tail -1 "$TMPDIR/$jobs")"
	laps_of "$TMPDIR/$jobs" >"$TMPDIR/laps.$jobs"
done
[ "$(grep -c '^[0-9]' "$TMPDIR/laps.1")" = 5 ] || fail "not five laps: $(cat "$TMPDIR/laps.1")"
cmp "$TMPDIR/laps.1" "$TMPDIR/laps.2" || fail "$(diff "$TMPDIR/laps.1" "$TMPDIR/laps.2")"
listed=$(awk '/^(receiver-term|wire-end|link-throttle) / { sum += $3 } END { print sum }' "$TMPDIR/2")
grep -q "^5 faults, $listed records" "$TMPDIR/2" || fail "$listed records in the table, but: $(tail -1 "$TMPDIR/2")"

tests/faults/faults.py --seed 5 --jobs 2 --no-keep --faults 60 >"$TMPDIR/killed" 2>&1 &
harness=$!
until grep -q '^2| -- ' "$TMPDIR/killed"; do sleep 0.1; done
read -r job _ <"/proc/$harness/task/$harness/children"
kill -KILL "$job"
until grep -q '^2| .* records ' "$TMPDIR/killed"; do sleep 0.1; done
kill -TERM $harness
wait $harness
ended=$?
[ $ended = 1 ] || fail "a harness that was interrupted ended with status $ended"
grep -q ' 2 failures;' "$TMPDIR/killed" || fail "a killed and an interrupted job: $(tail -1 "$TMPDIR/killed")"
exit $status
