#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a library is not found, make says which one and what to do, before the compiler complains of its header; where
# all are there it says nothing.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pkg-config" <<'END'
#!/bin/sh
case $* in
*fuse3*) exit 1 ;;
esac
exec pkg-config "$@"
END
chmod +x "$work/pkg-config"
eval "${K2HFT_MAKE:-make} -n B=$work/build PKG_CONFIG=$work/pkg-config $work/build/flags" >"$work/said"
grep -qxF "$work/pkg-config does not find fuse3: \"make deps\" installs what is missing" "$work/said" || {
	head -n 3 "$work/said"
	exit 1
}
eval "${K2HFT_MAKE:-make} -n B=$work/build $work/build/flags" >"$work/said"
! grep -F 'make deps' "$work/said"
