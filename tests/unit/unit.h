/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_UNIT_H
#define K2I_TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * A unit test is TEST(name) and its body. FIXTURE_TEST(name, parameter, begin, end) is one with a fixture: the body has
 * `parameter`, as in "struct place *place", which is what `begin` has made; of STATE_TEST, cmocka's `state`. main runs all
 * of the file, in their order.
 * UNIT_GROUP(begin, end) is for what stands around all of them.
 */
#define UNIT_TESTS_MAX 100

static struct {
	struct CMUnitTest tests[UNIT_TESTS_MAX];
	int lines[UNIT_TESTS_MAX];
	size_t count;
	CMFixtureFunction begin, end;
} unit;

/* Constructors come in any order. */
static inline void unit_add(struct CMUnitTest test, int line)
{
	size_t at = unit.count++;

	if (at == UNIT_TESTS_MAX)
		abort();
	for (; at > 0 && unit.lines[at - 1] > line; at--) {
		unit.tests[at] = unit.tests[at - 1];
		unit.lines[at] = unit.lines[at - 1];
	}
	unit.tests[at] = test;
	unit.lines[at] = line;
}

#define UNIT_ADD(function, begin, end)                                                                                 \
	__attribute__((constructor)) static void function##_add(void)                                                  \
	{                                                                                                              \
		unit_add((struct CMUnitTest){#function, function##_run, begin, end, NULL}, __LINE__);                  \
	}

#define TEST(function)                                                                                                 \
	static void function(void);                                                                                    \
	static void function##_run(void **state)                                                                       \
	{                                                                                                              \
		(void)state;                                                                                           \
		function();                                                                                            \
	}                                                                                                              \
	UNIT_ADD(function, NULL, NULL)                                                                                 \
	static void function(void)

#define FIXTURE_TEST(function, parameter, begin, end)                                                                  \
	static void function(parameter);                                                                               \
	static void function##_run(void **state)                                                                       \
	{                                                                                                              \
		function(*state);                                                                                      \
	}                                                                                                              \
	UNIT_ADD(function, begin, end)                                                                                 \
	static void function(__attribute__((unused)) parameter)

#define STATE_TEST(function, begin, end)                                                                               \
	static void function##_run(void **state);                                                                      \
	UNIT_ADD(function, begin, end)                                                                                 \
	static void function##_run(void **state)

#define UNIT_GROUP(group_begin, group_end)                                                                             \
	__attribute__((constructor)) static void unit_group(void)                                                      \
	{                                                                                                              \
		unit.begin = group_begin;                                                                              \
		unit.end = group_end;                                                                                  \
	}

static inline int unit_run(void)
{
	return _cmocka_run_group_tests("tests", unit.tests, unit.count, unit.begin, unit.end);
}

#ifndef UNIT_OWN_MAIN
int main(void)
{
	return unit_run();
}
#endif

#endif
