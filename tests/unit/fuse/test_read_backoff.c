/* SPDX-License-Identifier: MIT */
/* When requests stay with the kernel because the ring, or its small areas, have no room, and for how long. */

#include "unit.h"
#include "fuse/device/read_backoff.h"

#define NOW_NS UINT64_C(1000000000)
#define USED (UINT64_C(8) << 20)

/* Counts those of `moments` that were held for; the receiver takes `bytes` in each. */
static unsigned held(struct k2i_read_backoff *hold, uint64_t *now_ns, uint64_t *head, uint64_t bytes, unsigned moments)
{
	unsigned count = 0;

	for (unsigned at = 0; at < moments; at++) {
		bool wanted = k2i_read_backoff_wanted(hold, *head, USED, true, *now_ns);

		assert_int_equal(hold->wanted, wanted);
		*now_ns += K2I_READ_BACKOFF_NS;
		*head += bytes;
		assert_false(k2i_read_backoff_wanted(hold, *head, USED, true, *now_ns));
		count += wanted;
	}
	return count;
}

TEST(lack_of_room_holds_for_a_moment)
{
	struct k2i_read_backoff hold = {0};

	assert_true(k2i_read_backoff_wanted(&hold, 0, USED, true, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, 0, USED, true, NOW_NS + K2I_READ_BACKOFF_NS - 1));
	assert_true(hold.wanted);
	assert_false(k2i_read_backoff_wanted(&hold, 0, USED, true, NOW_NS + K2I_READ_BACKOFF_NS));
	assert_false(hold.wanted);
	/* A request was read. */
	assert_true(k2i_read_backoff_wanted(&hold, 0, USED, true, NOW_NS + K2I_READ_BACKOFF_NS + 1));
}

TEST(without_room_to_come_nothing_waits)
{
	struct k2i_read_backoff hold = {0};

	assert_false(k2i_read_backoff_wanted(&hold, 0, USED, false, NOW_NS));
	assert_true(k2i_read_backoff_wanted(&hold, 0, USED, true, NOW_NS + 1));
}

TEST(stopped_receiver_costs_one_measurement)
{
	struct k2i_read_backoff hold = {0};
	uint64_t now_ns = NOW_NS, head = 0;

	(void)held(&hold, &now_ns, &head, 0, K2I_READ_BACKOFF_MEASURE_NS / K2I_READ_BACKOFF_NS + 1);
	assert_int_equal(held(&hold, &now_ns, &head, 0, 100), 0);
	/* Room begins anew. */
	hold.since_ns = 0;
	assert_int_equal(held(&hold, &now_ns, &head, 0, 2), 2);
}

TEST(fast_receiver_gets_one_moment_after_the_other)
{
	const uint64_t fast_bytes = USED / K2I_READ_BACKOFF_MEASURES / 6;
	struct k2i_read_backoff hold = {0};
	uint64_t now_ns = NOW_NS, head = 0;

	assert_int_equal(held(&hold, &now_ns, &head, fast_bytes, 100), 100);
	(void)held(&hold, &now_ns, &head, fast_bytes / 2, 20);
	assert_int_equal(held(&hold, &now_ns, &head, fast_bytes / 2, 100), 0);
	(void)held(&hold, &now_ns, &head, fast_bytes, 20);
	assert_int_equal(held(&hold, &now_ns, &head, fast_bytes, 100), 100);
}
