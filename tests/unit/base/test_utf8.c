/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "base/utf8.h"

static enum k2i_utf8_kind kind(const char *text)
{
	return k2i_utf8_kind(text, strlen(text));
}

TEST(kinds_are_told_apart)
{
	char text[64];

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

TEST(no_character_is_cut)
{
	static const char text[] = "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80z"; /* 1, 2, 3, 4 and 1 bytes */
	static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

	for (size_t at = 0; at < sizeof(cuts) / sizeof(*cuts); at++)
		assert_int_equal(k2i_utf8_cut(text, sizeof(text) - 1, at), cuts[at]);
}

TEST(other_bytes_are_cut_anywhere)
{
	assert_int_equal(k2i_utf8_cut("\xa9\xa9\xa9\xa9\xa9", 5, 4), 4);
	assert_int_equal(k2i_utf8_cut("\xe9t\xe9t", 4, 1), 1);
	assert_int_equal(k2i_utf8_cut("\xe9tut", 4, 1), 1);
	assert_int_equal(k2i_utf8_cut("\xed\xa0\x80", 3, 2), 2);
	assert_int_equal(k2i_utf8_cut("\xc3\xa9\xa9", 3, 2), 2);
	assert_int_equal(k2i_utf8_cut("\xff\xa9", 2, 1), 1);
}

TEST(a_character_may_go_on_behind_the_text)
{
	assert_int_equal(k2i_utf8_cut("a\xe6\xbc", 3, 2), 1);
	assert_int_equal(k2i_utf8_cut("a\xe6\xbc", 3, 3), 1);
	assert_int_equal(k2i_utf8_cut("a\xf0\x9f\x98", 4, 4), 1);
	assert_int_equal(k2i_utf8_cut("a\xc3", 2, 2), 1);
}
