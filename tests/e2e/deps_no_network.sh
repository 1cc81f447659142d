#!/bin/sh
# SPDX-License-Identifier: MIT
# Where packages can't be fetched, install-deps shows why, not only that each of them is unknown.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A PATH where pkg-config knows no module, everybody is root, and apt-get has no lists and no network.
for tool in sh mktemp rm tail cat tr cc cut; do
	ln -s "$(command -v $tool)" "$work/$tool"
done
printf '#!/bin/sh\nexit 1\n' >"$work/pkg-config"
printf '#!/bin/sh\necho 0\n' >"$work/id"
cat >"$work/apt-get" <<'END_OF_APT_GET'
#!/bin/sh
if [ "$1" = update ]; then
	echo "W: Temporary failure resolving 'deb.example.org'"
	exit 0
fi
for word in "$@"; do
	case $word in
	install | -*) ;;
	*) echo "E: Unable to locate package $word" ;;
	esac
done
exit 100
END_OF_APT_GET
chmod +x "$work/pkg-config" "$work/id" "$work/apt-get"

status=0
PATH=$work pkgconfig/install-deps check >"$work/output" 2>&1 || status=$?
cat "$work/output"
[ $status = 1 ]
grep -q 'Temporary failure' "$work/output"
grep -q '^run as root: apt-get update ' "$work/output"
