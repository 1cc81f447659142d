#!/bin/sh
# SPDX-License-Identifier: MIT
# The wrapper for C++17: its objects send, close what they opened, and throw what the library returns.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc

compiler=${CXX:-c++}
command -v "$compiler" >/dev/null || {
	echo "SKIP: no C++ compiler"
	exit 77
}
cat >"$dir/wrapped.cc" <<'END'
#include <k2hft/k2hft.hpp>

#include <utility>

static int thrown(k2hft::writer &writer, std::string_view record)
{
	try {
		writer.write(record);
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

int main(int, char **argv)
{
	k2hft::sender sender("127.0.0.1", argv[1]);
	k2hft::writer opened = sender.open("cpp/log"), writer = std::move(opened);
	k2hft::writer blocks = sender.open_binary("cpp/blocks");

	for (int number = 0; number < 10000; number++)
		writer.write("record " + std::to_string(number));
	writer.lines("cut ");
	writer.lines("anywhere\nno end");
	writer.lines_end();
	blocks.write(std::string_view("\0\n\1", 3));
	if (thrown(writer, "a\nb") != EINVAL)
		return 2;
	try {
		(void)sender.open("../up");
		return 3;
	} catch (const std::system_error &error) {
		if (error.code() != std::errc::invalid_argument)
			return 4;
	}
	auto options = k2hft::sender::options();
	try {
		k2hft::sender nowhere(options);
		return 5;
	} catch (const std::system_error &) {
	}
	k2hft_sender *opened_in_c = nullptr;
	options.host = "127.0.0.1";
	options.port = argv[1];
	options.ring_path = argv[2];
	if (k2hft_sender_open(&options, &opened_in_c))
		return 7;
	k2hft::sender taken(opened_in_c), moved = std::move(taken);
	{
		k2hft::sender attached = k2hft::sender::attach(argv[2]);
		attached.open("cpp/attached").write("hello");
		attached.flush(60000);
	}
	try {
		(void)k2hft::sender::attach("/nowhere");
		return 8;
	} catch (const std::system_error &error) {
		if (error.code() != std::errc::no_such_file_or_directory)
			return 9;
	}
	sender.flush(60000);
	return sender.stats().unacked_records == 0 && sender.stats().written_records == 10003 ? 0 : 6;
}
END
library=$(cd "${B:-build}/lib" && pwd)
# The flags are words.
# shellcheck disable=SC2086
"$compiler" ${SANITIZER-} -std=c++17 -Wall -Wextra -Werror -Wshadow -Wconversion -Iinclude -o "$dir/wrapped" "$dir/wrapped.cc" -L"$library" -lk2hft \
	-Wl,-rpath,"$library" || exit 1
receiver_config ""
receiver_start
"$dir/wrapped" "$port" "$dir/ring" || fail "status $?"
{
	seq -f 'record %.0f' 0 9999
	printf 'cut anywhere\nno end'
} | cmp - "$dir/out/cpp/log" || fail "lines"
printf '\0\n\1' | cmp - "$dir/out/cpp/blocks" || fail "blocks"
[ "$(cat "$dir/out/cpp/attached")" = hello ] || fail "attached"
