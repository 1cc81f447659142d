#!/bin/sh
# SPDX-License-Identifier: MIT
# The program in libk2hft(7) does what the page says.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
library=$(cd "${B:-build}/lib" && pwd)
receiver_config ""
receiver_start
sed -n '/^\.SH EXAMPLES/,/^\.EE/p' man/man7/libk2hft.7 |
	sed "1,/^\.EX/d; /^\.EE/d; s/\\\\e/\\\\/g; s/\\\\-/-/g; s/\"8020\"/\"$port\"/" >"$dir/program.c"
# The flags are words.
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 -pedantic -Wall -Wextra -Werror ${SANITIZER-} -Iinclude -o "$dir/program" "$dir/program.c" \
	-L"$library" -lk2hft -Wl,-rpath,"$library" || fail "it does not compile"
"$dir/program" one 'two words' '' || fail "it ended with $?"
printf 'one\ntwo words\n\n' | cmp - "$dir/out/app/arguments.log" || fail "arguments.log"
"$dir/program" "$(printf 'two\nlines')" 2>"$dir/err" && fail "a line end inside is refused"
grep -q '^writer: Invalid argument' "$dir/err" || fail "it says: $(cat "$dir/err")"
exit 0
