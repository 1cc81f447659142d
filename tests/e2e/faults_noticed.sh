#!/bin/sh
# SPDX-License-Identifier: MIT
# The harness of tests/faults notices a record that is missing, at the end too, one that is repeated and one that is late.
status=0
for way in lose end repeat swap; do
	output=$(tests/faults/faults.py --faults 1 --fault sabotage-$way --no-keep)
	case $? in
	77)
		echo "$output"
		exit 77
		;;
	1) ;;
	*)
		echo "sabotage-$way was not noticed: $output"
		status=1
		;;
	esac
	case $way in
	lose | end) wanted='^  FAIL lap 1, sabotage-[a-z]*: 1 lost$' ;;
	repeat) wanted='^  FAIL lap 1, sabotage-[a-z]*: 1 repeated$' ;;
	swap) wanted='^  FAIL lap 1, sabotage-[a-z]*: 1 late$' ;;
	esac
	echo "$output" | grep -q "$wanted" || {
		echo "sabotage-$way: $output"
		status=1
	}
done
exit $status
