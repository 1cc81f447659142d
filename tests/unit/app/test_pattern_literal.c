/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "app/rules/pattern.h"
#include "app/rules/pattern_literal.h"

/* The texts with a | behind each, and a ! if they are all there is to the expression. */
static void knows(const char *regex, const char *wanted)
{
	struct k2i_literals literals;
	struct k2i_regex *compiled;
	char known[1024] = "", message[256];

	if (k2i_regex_compile(regex, strlen(regex), false, &compiled, message, sizeof(message)))
		fail_msg("%s: %s", regex, message);
	k2i_regex_free(compiled);
	bool suffice = k2i_literals_find(regex, strlen(regex), &literals);
	for (size_t i = 0, used = 0; i < literals.count; i++) {
		memcpy(known + used, literals.texts[i].text, literals.texts[i].bytes);
		used += literals.texts[i].bytes;
		known[used++] = '|';
	}
	if (suffice)
		known[strlen(known)] = '!';
	if (strcmp(known, wanted) != 0)
		fail_msg("of `%s' is known: `%s', wanted: `%s'", regex, known, wanted);
}

TEST(texts_are_all_there_is)
{
	knows("error", "error|!");
	knows("\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9|!");
	knows("ERROR|WARN", "ERROR|WARN|!");
	knows("a\\.b\\[1\\]", "a.b[1]|!");
	knows("x{y", "x{y|!");
	knows("]}", "]}|!");
}

TEST(the_longest_text_is_taken)
{
	knows("^user=(root|admin) .*failed$", "failed|");
	knows("ab.cdef.gh", "cdef|");
	knows("blk_-?[0-9]+", "blk_|");
	knows("(ERROR|WARN(ING)?): ", "ERROR|WARN|");
	knows("(?:one|two|three) x", "one|two|three|");
	knows("[]abc] def", " def|");
	knows("[^]\\]a] xyz", " xyz|");
	knows("[[:alpha:]]{2,3}yes", "yes|");
	knows("\\bword\\b", "word|");
	knows("aaaa((bbbbbb))", "bbbbbb|");
}

TEST(what_can_be_left_out_is_not_needed)
{
	knows("ab\xc3\xa9?d", "ab|");
	knows("a\xc3\xa9+d", "a\xc3\xa9|");
	knows("abc?d", "ab|");
	knows("abc*de", "ab|");
	knows("abc+de", "abc|");
	knows("abc{0,3}de", "ab|");
	knows("abc{2}de", "abc|");
	knows("(abc)?de", "de|");
	knows("(abc)+?x", "abc|");
	knows("(abcd){00,}de", "de|");
	knows("ab*", "");
	knows("abc|", "");
	knows("abc|x", "");
	knows("abc|(d|)", "");
	knows("", "");
	knows(".*", "");
	knows("ab\\ncd", "ab|");
}

TEST(what_is_not_read_makes_nothing_known)
{
	knows("(?i)error", "");
	knows("x(?i:error)y", "");
	knows("abc(?=def)", "");
	knows("(?#abc)def", "");
	knows("\\Qa.b\\E", "");
	knows("[\\Q]\\E]abc", "");
	knows("[\\c]]abc", "");
	knows("[a[:b]] xyz", "");
	knows("\\x41bc", "");
	knows("(abc)\\1def", "");
	knows("abc\\Kdef", "");
	knows("(*ANYCRLF)abc", "");
	knows("aa|bb|cc|dd|ee|ff|gg|hh|ii", "");
	knows("a{,3}bcd", "");
	knows("a{1,2,3}{0,1}bcd", "");
	knows("((((((((((((((((((abc))))))))))))))))))", "");
}

static void takes_all(const char *regex, bool wanted)
{
	if (k2i_regex_takes_all(regex, strlen(regex)) != wanted)
		fail_msg("`%s' %s every line", regex, wanted ? "is not known to match" : "does not match");
}

TEST(what_every_line_matches_is_known)
{
	static const char *const all[] = {"", "^", "$", ".*", "^.*", ".*$", "^.*$"};
	static const char *const some[] = {"^$", ".",    "..*", ".*x", ".*.",  ".+", "^^$",
					   "*",  "\\.*", "^.",  "$^",  ".*?x", "x|"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		takes_all(all[i], true);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		takes_all(some[i], false);
}
