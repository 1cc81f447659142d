/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "base/log.h"

static char seen[2048];
static unsigned seen_count;

static void keep(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	(void)snprintf(seen, sizeof(seen), "%s", text);
	seen_count++;
}

static int setup(void **state)
{
	(void)state;
	seen[0] = '\0';
	seen_count = 0;
	k2hft_log_callback_set(keep, NULL, K2HFT_LOG_INFO);
	return 0;
}

#define CASE(name) FIXTURE_TEST(name, void *fixture, setup, NULL)

CASE(test_levels)
{
	k2i_log(K2HFT_LOG_DEBUG, "log: %d", 1);
	assert_int_equal(seen_count, 0);
	k2i_log(K2HFT_LOG_INFO, "log: %d", 2);
	assert_string_equal(seen, "log: 2");
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_DEBUG);
	k2i_log(K2HFT_LOG_ERROR, "log: %d", 3);
	assert_int_equal(seen_count, 1);
}

/* A file's name from a peer can't make a message of its own. */
CASE(test_one_line)
{
	k2i_log(K2HFT_LOG_ERROR, "output: %s is gone", "a\nsession: all is well\r\x7f\t\x1b[2J\xc3\xa4");
	assert_string_equal(seen, "output: a?session: all is well????[2J\xc3\xa4 is gone");
	k2i_log(K2HFT_LOG_ERROR, "output: %s",
		"\xc2\x9b"
		"2J \xc2\xa0\xc2");
	assert_string_equal(seen, "output: ??2J \xc2\xa0\xc2");
}

CASE(test_long)
{
	char text[4096];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	k2i_log(K2HFT_LOG_ERROR, "%s", text);
	assert_int_equal(strlen(seen), 1023);
	k2i_log_limited(&(struct k2i_log_limit){0}, 1, K2HFT_LOG_ERROR, "%s", text);
	assert_in_range(strlen(seen), 900, 1023);
}

static void errno_change(void *argument, enum k2hft_log_level level, const char *text)
{
	keep(argument, level, text);
	errno = EPIPE;
}

/* Functions that log promise not to touch it, whatever the callback does. */
CASE(test_errno)
{
	k2hft_log_callback_set(errno_change, NULL, K2HFT_LOG_INFO);
	errno = 77;
	k2i_log(K2HFT_LOG_ERROR, "log: %d", 1);
	assert_int_equal(errno, 77);
	assert_string_equal(seen, "log: 1");
}

/* Text of others comes as they gave it, and by the same rules. */
CASE(test_write)
{
	k2hft_log_write(K2HFT_LOG_DEBUG, "app: not wanted");
	assert_int_equal(seen_count, 0);
	k2hft_log_write(K2HFT_LOG_INFO, "app: a\tb 100 %s");
	assert_string_equal(seen, "app: a\tb 100 %s");
	k2hft_log_callback_set(errno_change, NULL, K2HFT_LOG_INFO);
	errno = 77;
	k2hft_log_write(K2HFT_LOG_ERROR, "app: b");
	assert_int_equal(errno, 77);
	assert_int_equal(seen_count, 2);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_DEBUG);
	k2hft_log_write(K2HFT_LOG_ERROR, "app: to nobody");
	assert_int_equal(seen_count, 2);
}

CASE(test_limit)
{
	struct k2i_log_limit limit = {0};
	const uint64_t second_ns = UINT64_C(1000000000);

	k2i_log_limited(&limit, 1 * second_ns, K2HFT_LOG_ERROR, "ring: full, %d", 1);
	assert_string_equal(seen, "ring: full, 1");
	k2i_log_limited(&limit, 2 * second_ns, K2HFT_LOG_ERROR, "ring: full, %d", 2);
	k2i_log_limited(&limit, 10 * second_ns, K2HFT_LOG_ERROR, "ring: full, %d", 3);
	assert_int_equal(seen_count, 1);
	k2i_log_limited(&limit, 12 * second_ns, K2HFT_LOG_ERROR, "ring: full, %d", 4);
	assert_string_equal(seen, "ring: full, 4 (and 2 more in the last 11 s)");
	k2i_log_limited(&limit, 40 * second_ns, K2HFT_LOG_ERROR, "ring: full, %d", 5);
	assert_string_equal(seen, "ring: full, 5");
	assert_false(k2i_log_limit_due(&limit, 41 * second_ns));
	assert_true(k2i_log_limit_due(&limit, 50 * second_ns));
	limit.burst = 3;
	for (unsigned at = 0; at < 5; at++)
		k2i_log_limited(&limit, 70 * second_ns, K2HFT_LOG_ERROR, "ring: full, %u", at);
	assert_string_equal(seen, "ring: full, 2");
	k2i_log_limited(&limit, 80 * second_ns, K2HFT_LOG_ERROR, "ring: full");
	assert_string_equal(seen, "ring: full (and 2 more in the last 10 s)");
}
