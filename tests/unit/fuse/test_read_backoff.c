/* SPDX-License-Identifier: MIT */
/* When requests stay with the kernel because the ring is full, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fuse/device/read_backoff.h"

#define NOW_NS UINT64_C(1000000000)

static void room_is_used(void **state)
{
	struct k2i_read_backoff hold = {0};

	(void)state;
	assert_false(k2i_read_backoff_wanted(&hold, true, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, true, false, NOW_NS));
}

static void full_ring_holds_for_a_moment(void **state)
{
	struct k2i_read_backoff hold = {0};

	(void)state;
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS - 1));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 100 * K2I_READ_BACKOFF_NS));
}

static void room_begins_anew(void **state)
{
	struct k2i_read_backoff hold = {0};

	(void)state;
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, true, true, NOW_NS + 2 * K2I_READ_BACKOFF_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 3 * K2I_READ_BACKOFF_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 4 * K2I_READ_BACKOFF_NS - 1));
}

static void who_does_not_send_waits_for_nothing(void **state)
{
	struct k2i_read_backoff hold = {0};

	(void)state;
	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 1));
}

/* With a receiver that has stopped, the turn to send comes and goes with each request. */
static void stopped_receiver_costs_one_moment(void **state)
{
	struct k2i_read_backoff hold = {0};

	(void)state;
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS + K2I_READ_BACKOFF_NS - 1));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS + 2 * K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 3 * K2I_READ_BACKOFF_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_is_used),
		cmocka_unit_test(full_ring_holds_for_a_moment),
		cmocka_unit_test(room_begins_anew),
		cmocka_unit_test(who_does_not_send_waits_for_nothing),
		cmocka_unit_test(stopped_receiver_costs_one_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
