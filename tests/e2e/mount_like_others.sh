#!/bin/sh
# SPDX-License-Identifier: MIT
# Random calls do on the mount what they do on another file system, and every line that was written arrives once.
. tests/tools/mount.sh
start_receiver
for mode in auto direct; do
	settings="WRITEMODE = $mode"
	for seed in 1 2 3; do
		start_mount
		mkdir "$work/other" "$sent/$mode$seed"
		quick python3 tests/tools/differ.py "$sent/$mode$seed" "$work/other" $seed 1500 "$work/accepted" ||
			fail "WRITEMODE = $mode, seed $seed"
		stop_mount || fail "status $? of k2hftfuse"
		find "$received/senddir/$mode$seed" -type f -exec cat {} + | sort >"$work/arrived"
		sort "$work/accepted" | cmp - "$work/arrived" || fail "WRITEMODE = $mode, seed $seed: what arrived"
		[ "$(wc -l <"$work/accepted")" -gt 50 ] || fail "seed $seed: only $(wc -l <"$work/accepted") lines"
		rm -r "$work/other"
	done
done
