#!/bin/sh
# SPDX-License-Identifier: MIT
# C sources look as .clang-format says. Other versions of the tool lay out some constructs otherwise, so one counts.
set -u
wanted=14
for tool in clang-format-$wanted clang-format; do
	if "$tool" --version 2>/dev/null | grep -q "version $wanted\\."; then
		find include lib fuse receiver tools tests examples -name '*.[ch]' -print0 2>/dev/null |
			xargs -0 "$tool" --dry-run -Werror
		exit
	fi
done
echo "SKIP: no clang-format of version $wanted"
exit 77
