/* SPDX-License-Identifier: MIT */
/* When requests stay with the kernel because the ring is full, and for how long. */

#include "unit.h"
#include "fuse/device/read_backoff.h"

#define NOW_NS UINT64_C(1000000000)

TEST(room_is_used)
{
	struct k2i_read_backoff hold = {0};

	assert_false(k2i_read_backoff_wanted(&hold, true, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, true, false, NOW_NS));
}

TEST(full_ring_holds_for_a_moment)
{
	struct k2i_read_backoff hold = {0};

	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS - 1));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 100 * K2I_READ_BACKOFF_NS));
}

TEST(room_begins_anew)
{
	struct k2i_read_backoff hold = {0};

	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, true, true, NOW_NS + 2 * K2I_READ_BACKOFF_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 3 * K2I_READ_BACKOFF_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 4 * K2I_READ_BACKOFF_NS - 1));
}

TEST(who_does_not_send_waits_for_nothing)
{
	struct k2i_read_backoff hold = {0};

	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 1));
}

/* With a receiver that has stopped, the turn to send comes and goes with each request. */
TEST(stopped_receiver_costs_one_moment)
{
	struct k2i_read_backoff hold = {0};

	assert_true(k2i_read_backoff_wanted(&hold, false, true, NOW_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS + K2I_READ_BACKOFF_NS - 1));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, false, NOW_NS + 2 * K2I_READ_BACKOFF_NS));
	assert_false(k2i_read_backoff_wanted(&hold, false, true, NOW_NS + 3 * K2I_READ_BACKOFF_NS));
}
