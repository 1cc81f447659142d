#!/bin/sh
# SPDX-License-Identifier: MIT
# A numeric IPv6 address stands in brackets in messages, too: without them nobody can tell where the port begins.
k2hft="${B:-build}/bin/k2hft"
said=$(echo record | "$k2hft" push --timeout=1 -r '[::1]:1' 2>&1)
case $said in
*'client: [::1]:1: '*) ;;
*)
	echo "FAILED: $said"
	exit 1
	;;
esac
