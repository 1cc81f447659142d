#!/bin/sh
# SPDX-License-Identifier: MIT
# make dist gives the same bytes each time, and they are the files of the commit; its bill of materials names each of them,
# and each library. In a tarball no warning of a newer compiler is an error.
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
git rev-parse HEAD >"$root/head" 2>&1 || {
	echo "SKIP: this is no checkout of the repository: $(cat "$root/head")"
	exit 77
}
for folder in one two; do
	eval "${K2HFT_MAKE:-make} -s dist B=$root/$folder"
done
cmp "$root"/one/k2hft-*.tar.gz "$root"/two/k2hft-*.tar.gz
tar -xzf "$root"/one/k2hft-*.tar.gz -C "$root"
git archive HEAD | (mkdir "$root/commit" && tar -x -C "$root/commit")
diff -r "$root"/k2hft-* "$root/commit"
cmp "$root"/one/k2hft-*.spdx.json "$root"/two/k2hft-*.spdx.json
python3 - "$root"/one/k2hft-*.spdx.json "$root/commit" <<'END'
import hashlib, json, os, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
named = {file["fileName"]: file["checksums"][1]["checksumValue"] for file in document["files"]}
there = {}
for folder, _, names in os.walk(sys.argv[2]):
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            with open(path, "rb") as file:
                there["./" + os.path.relpath(path, sys.argv[2])] = hashlib.sha256(file.read()).hexdigest()
assert named == there, set(named.items()) ^ set(there.items())
assert len(document["packages"]) > 6
END
cd "$root"/k2hft-*/
eval "CPPFLAGS=-DK2HFT_VERSION_STRING=0 ${K2HFT_MAKE:-make} -s B=$root/b $root/b/obj/lib/base/version.o" 2>/dev/null
