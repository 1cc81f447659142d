/* SPDX-License-Identifier: MIT */
#include <errno.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "unit.h"
#include "app/rules/pattern.h"

static int compile_error;

pcre2_code *__real_pcre2_compile_8(PCRE2_SPTR text, PCRE2_SIZE bytes, uint32_t options, int *error, PCRE2_SIZE *at,
				   pcre2_compile_context *context);
pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR text, PCRE2_SIZE bytes, uint32_t options, int *error, PCRE2_SIZE *at,
				   pcre2_compile_context *context);
pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR text, PCRE2_SIZE bytes, uint32_t options, int *error, PCRE2_SIZE *at,
				   pcre2_compile_context *context)
{
	if (!compile_error)
		return __real_pcre2_compile_8(text, bytes, options, error, at, context);
	*error = compile_error;
	*at = 0;
	return NULL;
}

static struct k2i_regex_scratch *scratch;

/* Compiles a pattern as it stands behind ALLOW; the caller clears it. */
static struct k2i_matcher compiled(const char *text)
{
	char *copy = strdup(text), message[512] = "";
	struct k2i_pattern pattern = {.text = copy, .place = {"f.ini", 3}};
	struct k2i_matcher matcher;

	if (k2i_matcher_compile(&pattern, &matcher, message, sizeof(message)) != 0)
		fail_msg("%s: %s", text, message);
	free(copy);
	return matcher;
}

static void is_text(const char *pattern, const char *wanted)
{
	struct k2i_matcher matcher = compiled(pattern);

	assert_null(matcher.regex);
	assert_int_equal(matcher.matches_all, *wanted == '\0');
	assert_int_equal(matcher.needle_count, *wanted != '\0');
	if (*wanted) {
		assert_true(matcher.needles_suffice);
		assert_int_equal(matcher.needles->bytes, strlen(wanted));
		assert_memory_equal(matcher.needles->text, wanted, strlen(wanted));
	}
	k2i_matcher_clear(&matcher);
}

/* Whether the pattern is a regular expression that matches; its groups are in `groups`. */
static struct k2i_regex_group groups[K2I_GROUPS_MAX];
static int match(const char *pattern, const char *subject, size_t bytes)
{
	struct k2i_matcher matcher = compiled(pattern);
	int result;

	assert_non_null(matcher.regex);
	assert_false(matcher.matches_all);
	result = k2i_regex_match(matcher.regex, scratch, subject, bytes, groups);
	k2i_matcher_clear(&matcher);
	return result;
}

static int match_text(const char *pattern, const char *subject)
{
	return match(pattern, subject, strlen(subject));
}

static void refused(const char *text, const char *reason)
{
	char *copy = strdup(text), message[512] = "";
	struct k2i_pattern pattern = {.text = copy};
	struct k2i_matcher matcher;

	assert_int_equal(k2i_matcher_compile(&pattern, &matcher, message, sizeof(message)), -EINVAL);
	k2i_matcher_clear(&matcher);
	free(copy);
	if (!strstr(message, reason))
		fail_msg("%s: message is: %s", text, message);
}

TEST(without_double_quotes_it_is_text)
{
	is_text("error", "error");
	is_text("a b, c", "a b, c");
	is_text("^a.*$", "^a.*$");
	is_text("'^a \"b\" $'", "^a \"b\" $");
	is_text("", "");
	is_text("''", "");
	is_text("\\#5", "#5");
}

TEST(double_quotes_make_an_expression)
{
	assert_int_equal(match_text("\"^a+b$\"", "aab"), 1);
	assert_int_equal(match_text("\"^a+b$\"", "aabc"), 0);
	assert_int_equal(match_text("\"a\" , \"$0\"", "bab"), 1);
	assert_int_equal(groups[0].begin, 1);
	assert_int_equal(groups[0].end, 2);
	assert_int_equal(match_text("\"say \\\"hi\\\"\"", "say \"hi\""), 1);
	assert_int_equal(match_text("\"\\d+\\\\\"", "12\\"), 1);
	/* As K2HFTFUSE's program wanted it. */
	assert_int_equal(match_text("'\"^a+b$\"'", "aab"), 1);
	assert_int_equal(match_text("'\"a\",\"<$0>\"'", "a"), 1);
	assert_int_equal(match_text("\\\"^a$\\\"", "a"), 1);
}

TEST(what_posix_has_works)
{
	assert_int_equal(match_text("\"[[:alpha:]]{2,3}[[:space:]]\\([0-9]+\\)\"", "x abc (12)"), 1);
	assert_int_equal(match_text("\"(a|b)+|c\"", "xbay"), 1);
	assert_int_equal(match_text("\"(.)\\1\"", "abb"), 1);
	assert_int_equal(match_text("\"[^a]\"", "aaa"), 0);
}

TEST(any_byte_is_matched)
{
	assert_int_equal(match("\"a.b\"", "a\0b", 3), 1);
	assert_int_equal(match("\"^a.b$\"",
			       "a\xff"
			       "b",
			       3),
			 1);
	assert_int_equal(match("\"\\xff$\"", "\0\xff", 2), 1);
	assert_int_equal(match("\"x\"", "", 0), 0);
	assert_int_equal(match("\"^$\"", "", 0), 1);
	assert_int_equal(match("\"a\r$\"", "a\r", 2), 1);
}

TEST(groups_that_took_no_part_are_empty)
{
	assert_int_equal(match_text("\"(a)|(b)\"", "xb"), 1);
	assert_int_equal(groups[1].begin, groups[1].end);
	assert_int_equal(groups[2].begin, 1);
	assert_int_equal(groups[2].end, 2);
	for (size_t i = 3; i < K2I_GROUPS_MAX; i++)
		assert_int_equal(groups[i].end, 0);
	assert_int_equal(match_text("\"(1)(2)(3)(4)(5)(6)(7)(8)(9)(10)(11)\"", "1234567891011"), 1);
	assert_int_equal(groups[9].begin, 8);
}

TEST(hostile_subject_ends)
{
	char subject[64];

	memset(subject, 'a', sizeof(subject));
	subject[sizeof(subject) - 1] = 'b';
	assert_int_equal(match("\"^(a+)+$\"", subject, sizeof(subject)), -ELOOP);
	assert_int_equal(match("\"^(a|aa)+$\"", subject, sizeof(subject)), -ELOOP);
}

/* An honest expression on a long record is not taken for a hostile one. */
TEST(long_subject_matches)
{
	const size_t bytes = 1u << 20;
	char *subject = malloc(bytes);

	memset(subject, 'a', bytes);
	subject[0] = '<';
	subject[1] = '>';
	assert_int_equal(match("\"<.*>\"", subject, bytes), 1);
	assert_int_equal(groups[0].end, 2);
	assert_int_equal(match("\"<.*x\"", subject, bytes), 0);
	assert_int_equal(match("\"^<(a|>)*$\"", subject, bytes), 1);
	assert_int_equal(match("\"^(<|(>)|[a-c]+|(?:xy)*)*$\"", subject, bytes), 1);
	free(subject);
}

#define KATAKANA "\xe3\x82\xab\xe3\x82\xbf"
#define HIRAGANA "\xe3\x81\xb2\xe3\x82\x89"
#define KATAKANA_CLASS "[\xe3\x82\xa1-\xe3\x83\xb6]"

TEST(characters_are_matched)
{
	assert_int_equal(match_text("\"" KATAKANA_CLASS "\"", KATAKANA), 1);
	assert_int_equal(match_text("\"" KATAKANA_CLASS "\"", HIRAGANA), 0);
	assert_int_equal(match_text("\"^(.).$\"", KATAKANA), 1);
	assert_int_equal(groups[1].end, 3);
	assert_int_equal(match_text("\"(?i)\xc3\x89\"", "\xc3\xa9"
							"cole"),
			 1);
	assert_int_equal(match_text("\"^\\w+$\"", "\xc3\xa9"
						  "cole"),
			 1);
	assert_int_equal(match_text("\"\\x{30ab}\"", KATAKANA), 1);
	assert_int_equal(match_text("\"\\x{30ab}\"", "\xff" KATAKANA), 1);
	/* All of the character can be left out. */
	assert_int_equal(match_text("\"^ab\xc3\xa9?$\"", "ab"), 1);
}

TEST(lines_that_are_not_utf8_are_bytes)
{
	/* Latin-1 */
	assert_int_equal(match_text("\"^user=.* failed$\"", "user=Ren\xe9"
							    " failed"),
			 1);
	assert_int_equal(match_text("\"^(....)\"", "\xe9"
						   "t\xe9"
						   "s"),
			 1);
	assert_int_equal(groups[1].end, 4);
	/* A pattern in Latin-1 has no characters. */
	assert_int_equal(match_text("\"Ren\xe9 .*\"", "Ren\xe9 " KATAKANA), 1);
	assert_int_equal(match_text("\"^(.)\xe9\"", "n\xe9"), 1);
}

TEST(mistakes_are_named)
{
	refused("\"(\"", "at byte 2 of `('");
	refused("\"[a\"", "regular expression:");
	refused("\"a\" b", "a pattern is text, or");
	refused("\"a\",", "a pattern is text, or");
	refused("\"a\",b", "a pattern is text, or");
	refused("\"a\",\"b\",\"c\"", "a pattern is text, or");
	refused("\"a\\\"", "a pattern is text, or");
	refused("\"(*UTF)a\"", "regular expression:");
	refused("\"a\",\"$\"", "$ wants a digit");
	refused("\"a\",\"x$y\"", "at byte 2 of `x$y'");
	refused("\"(a)\",\"$10\"", "one digit");
	refused("\"a\",\"\\n\"", "a backslash wants");
	refused("\"a\",\"$1\"", "there is no $1, the regular expression has 0 groups");
}

/* Another start can go well then, which none does after a mistake. */
TEST(no_memory_is_no_mistake)
{
	const struct k2i_pattern pattern = {.text = "\"fine\""};
	char message[512] = "";
	struct k2i_matcher matcher;

	compile_error = PCRE2_ERROR_HEAP_FAILED;
	assert_int_equal(k2i_matcher_compile(&pattern, &matcher, message, sizeof(message)), -ENOMEM);
	compile_error = 0;
	k2i_matcher_clear(&matcher);
}

TEST(replacement_has_its_pieces)
{
	struct k2i_replacement replacement;
	char message[256];

	assert_int_equal(k2i_replacement_parse("a\\$\\&\\\\\\\"$1&b", 13, &replacement, message, sizeof(message)), 0);
	assert_int_equal(replacement.count, 4);
	assert_int_equal(replacement.pieces[0].bytes, 5);
	assert_memory_equal(replacement.literals, "a$&\\\"", 5);
	assert_int_equal(replacement.pieces[1].group, 1);
	assert_int_equal(replacement.pieces[2].group, 0);
	assert_int_equal(replacement.pieces[3].group, -1);
	assert_int_equal(replacement.group_highest, 1);
	k2i_replacement_clear(&replacement);
	assert_int_equal(k2i_replacement_parse("", 0, &replacement, message, sizeof(message)), 0);
	assert_int_equal(replacement.count, 0);
	k2i_replacement_clear(&replacement);
}

static int scratch_make(void **state)
{
	(void)state;
	return k2i_regex_scratch_create(&scratch);
}

static int scratch_free(void **state)
{
	(void)state;
	k2i_regex_scratch_free(scratch);
	return 0;
}

UNIT_GROUP(scratch_make, scratch_free)
