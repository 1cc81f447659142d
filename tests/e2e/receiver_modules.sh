#!/bin/sh
# SPDX-License-Identifier: MIT
# A module is loaded from beside libk2hft. One that is missing is named by k2hft check and by the start, with its package;
# one that is no module, or of another version, by the start.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
mkdir "$dir/bin" "$dir/lib"
cp "$server" "${B:-build}/bin/k2hft" "$dir/bin/"
cp -P "${B:-build}"/lib/libk2hft.so* "$dir/lib/"
printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'TYPE = file, forward' "FILE_BASEDIR = $dir/out" \
	'FORWARD_SERVER = localhost' >"$dir/conf"

# refused TEXT: what the start says
refused() {
	"$dir/bin/k2hftfusesvr" -conf "$dir/conf" --listen 127.0.0.1:0 >"$dir/log" 2>&1 && fail "it starts"
	logged "$1" || fail "it does not say: $1"
}

missing="conf:4: .*TYPE has forward, whose module $dir/.*lib/k2hft/forward.so is not there; install k2hftfusesvr-forward"
"$dir/bin/k2hft" check "$dir/conf" >"$dir/log" && fail "check: fine"
logged "$missing" || fail "check does not name it"
refused "$missing"

mkdir "$dir/lib/k2hft"
echo text >"$dir/lib/k2hft/forward.so"
"$dir/bin/k2hft" check -q "$dir/conf" || fail "check: it is there"
refused 'module .*/forward.so can.t be loaded: .*; install k2hftfusesvr-forward of version '
"$dir/bin/k2hft" check --connect "$dir/conf" >"$dir/log" && fail "check --connect: a text is a module"
logged 'error: forward: module .*/forward.so can.t be loaded: .*; install k2hftfusesvr-forward of version ' || fail "$(cat "$dir/log")"
cat >"$dir/old.c" <<END
const struct { const char *version; void *open; } k2i_sink_module = {"0.0.1", 0};
END
${CC:-cc} -shared -fPIC -o "$dir/lib/k2hft/forward.so" "$dir/old.c" || fail "cc"
refused 'it is of another version; install k2hftfusesvr-forward of version '
printf 'int unrelated;\n' >"$dir/old.c"
${CC:-cc} -shared -fPIC -o "$dir/lib/k2hft/forward.so" "$dir/old.c" || fail "cc"
refused 'undefined symbol: k2i_sink_module; install'

# Keys of a destination that TYPE does not have do nothing; a destination without its server is an error.
sed -i 's/^TYPE = .*/TYPE = file/' "$dir/conf"
"$dir/bin/k2hft" check "$dir/conf" >"$dir/log"
logged 'FORWARD_SERVER has no effect: TYPE has no forward' || fail "no word of FORWARD_SERVER"
sed -i 's/^TYPE = .*/TYPE = forward/; s/^FORWARD_SERVER.*/FORWARD_TAG = %L/' "$dir/conf"
"$dir/bin/k2hft" check "$dir/conf" >"$dir/log" && fail "check: fine without a server"
logged 'TYPE = forward needs FORWARD_SERVER' || fail "no word of the missing FORWARD_SERVER"
logged 'FORWARD_TAG: "%L" is made of where a record comes from' || fail "no word of the tag"

# Values of a destination are judged where its module is not there.
rm -r "$dir/lib/k2hft"
printf '%s\n' 'FORWARD_SERVER = here:99999' 'OTLP_ENDPOINT = http://here:99999' 'OTLP_HEADERS = secret' >>"$dir/conf"
"$dir/bin/k2hft" check "$dir/conf" >"$dir/log" && fail "check: fine with wrong values"
logged 'conf:7: .*FORWARD_SERVER = here:99999: it wants HOST:PORT' || fail "no word of the server's port"
logged 'conf:8: .*OTLP_ENDPOINT is no address' || fail "no word of the address"
logged 'conf:9: .*OTLP_HEADERS has a header without =' || fail "no word of the header"

# Files that they name are read as the receiver will.
echo 'a secret' >"$dir/key"
echo 'no header' >"$dir/headers"
chmod 640 "$dir/key"
chmod 600 "$dir/headers"
printf '%s\n' '[GLOBAL]' 'PORT = 8020' '[K2HFTFUSESVR]' 'TYPE = forward, otlp' "STATEDIR = $dir/state" \
	'FORWARD_SERVER = here' "FORWARD_SHARED_KEY_FILE = $dir/key" 'FORWARD_TLS = yes' "FORWARD_CA = $dir/nowhere" \
	'OTLP_ENDPOINT = https://here' "OTLP_HEADERS_FILE = $dir/headers" "OTLP_CERT = $dir/key" "OTLP_KEY = $dir/key" >"$dir/conf"
"$dir/bin/k2hft" check "$dir/conf" >"$dir/log" && fail "check: fine with wrong files"
logged 'conf:7: .*FORWARD_SHARED_KEY_FILE: .*/key: other users have access to it; run chmod 600' || fail "no word of the key"
logged 'conf:9: .*FORWARD_CA: .*/nowhere: No such file' || fail "no word of the authority"
logged 'conf:11: .*OTLP_HEADERS_FILE: .*/headers: a header without =' || fail "no word of the headers"
logged 'conf:12: .*OTLP_CERT: .*/key' || fail "no word of the certificate"
exit 0
