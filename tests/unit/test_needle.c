/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "needle.h"

/* In memory of just that size, so that a sanitizer notices a byte read beyond it. */
static void found_as_memmem_does(const char *data, size_t bytes, const char *text, size_t text_bytes)
{
	char *exact = malloc(bytes ? bytes : 1);
	struct k2i_needle needle;

	memcpy(exact, data, bytes);
	assert_int_equal(k2i_needle_set(&needle, text, text_bytes), 0);
	assert_ptr_equal(k2i_needle_find(&needle, exact, bytes), memmem(exact, bytes, text, text_bytes));
	k2i_needle_clear(&needle);
	free(exact);
}

static void it_is_found_wherever_it_is(void **state)
{
	static const char *const texts[] = {"q", "ab", "error", "xxxy",
					    "a text that is longer than all of the others are"};
	char data[400];

	(void)state;
	for (size_t text = 0; text < sizeof(texts) / sizeof(texts[0]); text++) {
		const size_t bytes = strlen(texts[text]);

		for (size_t at = 0; at + bytes <= 200; at++) {
			memset(data, 'x', sizeof(data));
			memcpy(data + at, texts[text], bytes);
			found_as_memmem_does(data, 200, texts[text], bytes);
			found_as_memmem_does(data, at + bytes, texts[text], bytes);
			found_as_memmem_does(data, at + bytes - 1, texts[text], bytes);
		}
	}
}

static void what_is_like_it_is_not_found(void **state)
{
	char data[1000];
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		for (size_t at = 0; at < sizeof(data); at++) {
			random = random * 1664525 + 1013904223;
			data[at] = "ab\0n"[random >> 30];
		}
		found_as_memmem_does(data, sizeof(data), data + sizeof(data) - 9, 9);
		found_as_memmem_does(data, sizeof(data), "abab\0nab", 8);
		found_as_memmem_does(data, round, "ba", 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_wherever_it_is),
		cmocka_unit_test(what_is_like_it_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
