#!/bin/sh
# SPDX-License-Identifier: MIT
# The installed files are enough for a C and a C++ program, linked to the shared and to the static library by what
# pkg-config says.
set -eu
# Each installation links the programs anew, in the same folder.
exec 9>"${B:-build}/install.lock"
flock 9
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
eval "${K2HFT_MAKE:-make} -s install B=${B:-build} DESTDIR=$root prefix=/opt/k2hft"

PKG_CONFIG_LIBDIR=$root/opt/k2hft/lib/pkgconfig:$(pkg-config --variable pc_path pkg-config)
export PKG_CONFIG_LIBDIR
version=$(sed -n 's/.*K2HFT_VERSION_STRING "\(.*\)"/\1/p' include/k2hft/version.h)
[ "$(pkg-config --modversion k2hft)" = "$version" ]

cat >"$root/consumer.c" <<'END'
#include <k2hft/k2hft.h>
#include <stdio.h>
#include <string.h>

static void progress(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	(void)text;
}

int main(void)
{
	struct k2hft_ring_options options;
	struct k2hft_ring *ring = NULL;
	struct k2hft_ring_stats stats;

	memset(&options, 0, sizeof(options));
	memset(&stats, 0, sizeof(stats));
	options.size = sizeof(options);
	options.ring_bytes = 65536;
	stats.size = sizeof(stats);
	k2hft_log_callback_set(progress, NULL, K2HFT_LOG_ERROR);
	if (k2hft_ring_open(&options, &ring) || k2hft_ring_stats(ring, &stats) || stats.ring_bytes != 65536)
		return 1;
	k2hft_ring_close(ring);
	puts(k2hft_version_string());
	return 0;
}
END
cat >"$root/configured.c" <<'END'
#include <k2hft/config.h>
#include <k2hft/version.h>
#include <stdio.h>

int main(void)
{
	struct k2hft_sender *sender = NULL;
	char message[256] = "";

	if (k2hft_sender_open_config("/nonexistent/k2hft.ini", &sender, message, sizeof(message)) >= 0 || sender)
		return 2;
	puts(k2hft_version_string());
	return 0;
}
END
cp "$root/consumer.c" "$root/consumer.cc"
cp "$root/configured.c" "$root/configured.cc"

# compile PROGRAM COMPILER SOURCE MODULE [pkg-config option]
compile()
{
	program=$root/$1 compiler=$2 source=$3 module=$4
	shift 4
	# The flags are words.
	# shellcheck disable=SC2046,SC2086
	"$compiler" -Wall -Wextra -Werror ${SANITIZER-} -o "$program" "$source" \
		$(pkg-config --define-variable=prefix="$root/opt/k2hft" \
			--define-variable=libdir="$root/opt/k2hft/lib" \
			--define-variable=includedir="$root/opt/k2hft/include" --cflags --libs "$@" "$module")
}

compile shared-c "${CC:-cc}" "$root/consumer.c" k2hft
compile shared-cc "${CXX:-c++}" "$root/consumer.cc" k2hft
compile configured-c "${CC:-cc}" "$root/configured.c" k2hft-config
compile configured-cc "${CXX:-c++}" "$root/configured.cc" k2hft-config
for program in shared-c shared-cc configured-c configured-cc; do
	readelf -d "$root/$program" | grep -q 'NEEDED.*libk2hft\.so\.[0-9]*\]'
	[ "$(LD_LIBRARY_PATH="$root/opt/k2hft/lib" "$root/$program")" = "$version" ]
done
# A program that reads no configuration needs none of its libraries.
! readelf -d "$root/opt/k2hft/lib/libk2hft.so" | grep -E 'NEEDED.*(yaml|inih)' || exit 1

# Without the shared libraries -lk2hft and -lk2hft-config are the archives; the latter goes with either libk2hft.
rm "$root"/opt/k2hft/lib/libk2hft-config.so*
compile mixed-c "${CC:-cc}" "$root/configured.c" k2hft-config --static
[ "$(LD_LIBRARY_PATH="$root/opt/k2hft/lib" "$root/mixed-c")" = "$version" ]
rm "$root"/opt/k2hft/lib/libk2hft.so*
compile static-c "${CC:-cc}" "$root/consumer.c" k2hft --static
compile static-cc "${CXX:-c++}" "$root/consumer.cc" k2hft --static
compile static-configured "${CC:-cc}" "$root/configured.c" k2hft-config --static
for program in static-c static-cc static-configured; do
	[ "$("$root/$program")" = "$version" ]
done

# With nothing shared at all, if what it needs is there so.
# shellcheck disable=SC2046
if [ -z "${SANITIZER-}" ] && echo 'int main(void) { return 0; }' | "${CC:-cc}" -static -o "$root/static" -xc - -xnone \
	$(pkg-config --static --libs liblz4 inih yaml-0.1 libssl libcrypto) 2>/dev/null; then
	SANITIZER=-static compile static-whole "${CC:-cc}" "$root/configured.c" k2hft-config --static 2>"$root/said" || {
		cat "$root/said"
		exit 1
	}
	[ "$("$root/static-whole")" = "$version" ]
fi
