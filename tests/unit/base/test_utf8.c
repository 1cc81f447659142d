/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static enum k2i_utf8_kind kind(const char *text)
{
	return k2i_utf8_kind(text, strlen(text));
}

static void kinds_are_told_apart(void **state)
{
	char text[64];

	(void)state;
	assert_int_equal(kind(""), K2I_UTF8_ASCII);
	assert_int_equal(kind("plain text, longer than a word"), K2I_UTF8_ASCII);
	assert_int_equal(kind("\xc3\xa9"), K2I_UTF8_VALID);
	assert_int_equal(kind("\xf0\x9f\x98\x80 \xe6\xbc\xa2"), K2I_UTF8_VALID);
	assert_int_equal(kind("\xc3"), K2I_UTF8_NOT);
	assert_int_equal(kind("\xa9"), K2I_UTF8_NOT);
	assert_int_equal(kind("\xe3\x81"), K2I_UTF8_NOT);
	assert_int_equal(kind("\xc0\x80"), K2I_UTF8_NOT);         /* longer than needed */
	assert_int_equal(kind("\xed\xa0\x80"), K2I_UTF8_NOT);     /* a surrogate */
	assert_int_equal(kind("\xf4\x90\x80\x80"), K2I_UTF8_NOT); /* behind the last character */
	for (size_t at = 0; at < sizeof(text); at++) {
		memset(text, 'a', sizeof(text));
		text[at] = (char)0xff;
		assert_int_equal(k2i_utf8_kind(text, sizeof(text)), K2I_UTF8_NOT);
		assert_int_equal(k2i_utf8_kind(text, at), K2I_UTF8_ASCII);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
