/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_BENCH_HELP_H
#define K2I_TESTS_UNIT_BENCH_HELP_H

/* Helpers that tests of k2hft bench share: its messages are kept in `said`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench/bench.h"

static char said[1024];

void command_error(const char *command, const char *format, ...)
{
	va_list arguments;

	assert_string_equal(command, "bench");
	va_start(arguments, format);
	(void)vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
}

int command_failed(int status, const char *command, const char *format, ...)
{
	va_list arguments;

	assert_string_equal(command, "bench");
	va_start(arguments, format);
	(void)vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	return status;
}

#endif
