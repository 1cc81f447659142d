#!/bin/sh
# SPDX-License-Identifier: MIT
# Without the right to install, install-deps names what is missing and the one line to run, installs nothing and fails;
# with nothing missing it does nothing at all.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A PATH where pkg-config knows no module and nobody is root; running apt-get leaves a trace.
for tool in sh mktemp rm tail cat tr cc cut; do
	ln -s "$(command -v $tool)" "$work/$tool"
done
printf '#!/bin/sh\nexit 1\n' >"$work/pkg-config"
printf '#!/bin/sh\necho 1000\n' >"$work/id"
printf '#!/bin/sh\n>%s/installed\n' "$work" >"$work/apt-get"
chmod +x "$work/pkg-config" "$work/id" "$work/apt-get"

status=0
PATH=$work pkgconfig/install-deps build >"$work/output" 2>&1 || status=$?
cat "$work/output"
[ $status = 1 ]
grep -q '^run as root: apt-get update .*apt-get install .*libfuse3-dev' "$work/output"
[ ! -e "$work/installed" ]

printf '#!/bin/sh\nexit 0\n' >"$work/pkg-config"
cp "$work/pkg-config" "$work/fusermount3"
PATH=$work pkgconfig/install-deps build >"$work/output" 2>&1
[ ! -s "$work/output" ]
[ ! -e "$work/installed" ]
