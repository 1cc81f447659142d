/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "base/spread.h"

#define PATHS 10000u
#define HOMES 8u

static const char *const homes[HOMES] = {"a:8020", "b:8020", "c:8020", "d:8020",
					 "e:8020", "f:8020", "a:8021", "[::1]:8020"};

static const char *path_of(uint32_t number)
{
	static char path[32];

	(void)snprintf(path, sizeof(path), "app/%u.log", number);
	return path;
}

TEST(a_home_has_host_and_port)
{
	char home[K2I_SPREAD_HOME_BYTES];

	k2i_spread_home("a.example", "8020", home);
	assert_string_equal(home, "a.example:8020");
	k2i_spread_home("::1", "http", home);
	assert_string_equal(home, "[::1]:http");
}

/* Ring files and running senders depend on it. */
TEST(the_order_is_the_known_one)
{
	static const uint32_t known[HOMES] = {3, 6, 5, 0, 1, 4, 7, 2};
	uint32_t order[HOMES];

	k2i_spread_order(homes, HOMES, "app/access.log", HOMES, order);
	assert_memory_equal(order, known, sizeof(known));
}

TEST(the_order_has_each_once)
{
	uint32_t order[HOMES + 1], first;

	for (uint32_t number = 0; number < 100; number++) {
		uint32_t seen = 0;

		k2i_spread_order(homes, HOMES, path_of(number), HOMES + 1, order);
		for (uint32_t place = 0; place < HOMES; place++)
			seen |= 1u << order[place];
		assert_int_equal(seen, (1u << HOMES) - 1);
		k2i_spread_order(homes, HOMES, path_of(number), 1, &first);
		assert_int_equal(first, order[0]);
	}
}

TEST(names_that_are_the_same_are_both_there)
{
	static const char *const same[] = {"a:1", "a:1", "a:1"};
	uint32_t order[3];

	k2i_spread_order(same, 3, "x", 3, order);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 1);
	assert_int_equal(order[2], 2);
}

TEST(each_home_gets_its_share)
{
	uint32_t counts[HOMES] = {0}, first;

	for (uint32_t number = 0; number < PATHS; number++) {
		k2i_spread_order(homes, HOMES, path_of(number), 1, &first);
		counts[first]++;
	}
	for (uint32_t index = 0; index < HOMES; index++)
		assert_in_range(counts[index], PATHS / HOMES * 9 / 10, PATHS / HOMES * 11 / 10);
}

/* All paths that move go to it, and no more than its share do. */
TEST(a_new_home_moves_its_share)
{
	uint32_t moved = 0, before, after;

	for (uint32_t number = 0; number < PATHS; number++) {
		k2i_spread_order(homes, HOMES - 1, path_of(number), 1, &before);
		k2i_spread_order(homes, HOMES, path_of(number), 1, &after);
		if (before == after)
			continue;
		assert_int_equal(after, HOMES - 1);
		moved++;
	}
	assert_in_range(moved, PATHS / HOMES * 9 / 10, PATHS / HOMES * 11 / 10);
}

TEST(the_order_of_the_list_changes_nothing)
{
	const char *turned[HOMES];
	uint32_t one[HOMES], other[HOMES];

	for (uint32_t index = 0; index < HOMES; index++)
		turned[index] = homes[HOMES - 1 - index];
	for (uint32_t number = 0; number < 100; number++) {
		k2i_spread_order(homes, HOMES, path_of(number), HOMES, one);
		k2i_spread_order(turned, HOMES, path_of(number), HOMES, other);
		for (uint32_t place = 0; place < HOMES; place++)
			assert_string_equal(homes[one[place]], turned[other[place]]);
	}
}

#define LANES 64u

struct lanes {
	bool connected[LANES];
	uint64_t bytes[LANES];
	uint32_t looks;
};

static bool connected(void *argument, uint32_t index)
{
	const struct lanes *lanes = argument;

	return lanes->connected[index];
}

static uint64_t unacked_bytes(void *argument, uint32_t index)
{
	struct lanes *lanes = argument;

	lanes->looks++;
	return lanes->bytes[index];
}

static struct k2i_spread_lanes spread(struct lanes *lanes, uint32_t count)
{
	return (struct k2i_spread_lanes){count, connected, unacked_bytes, lanes};
}

TEST(the_fewest_bytes_of_a_few)
{
	struct lanes lanes = {.connected = {true, true, true, true}, .bytes = {7, 5, 3, 9}};
	struct k2i_spread_lanes four = spread(&lanes, 4), one = spread(&lanes, 1);
	uint64_t random = 1;

	for (unsigned round = 0; round < 100; round++)
		assert_int_equal(k2i_spread_random(&four, &random), 2);
	lanes.connected[2] = false;
	for (unsigned round = 0; round < 100; round++)
		assert_int_equal(k2i_spread_random(&four, &random), 1);
	memset(lanes.connected, 0, sizeof(lanes.connected));
	for (unsigned round = 0; round < 100; round++)
		assert_int_equal(k2i_spread_random(&four, &random), 2);
	assert_int_equal(k2i_spread_random(&one, &random), 0);
}

/* The most of those that can be chosen gets at most a tenth more than its share. */
static void balanced(struct lanes *lanes, uint32_t count, uint32_t usable)
{
	struct k2i_spread_lanes all = spread(lanes, count);
	uint32_t counts[LANES] = {0};
	uint64_t random = 88172645463325252u;

	for (uint32_t round = 0; round < 1000 * usable; round++) {
		uint32_t index = k2i_spread_random(&all, &random);

		assert_true(lanes->connected[index]);
		counts[index]++;
		lanes->bytes[index] += 1000;
	}
	for (uint32_t index = 0; index < count; index++)
		if (lanes->connected[index])
			assert_in_range(counts[index], 950, 1050);
}

TEST(equal_lanes_get_the_same)
{
	static const uint32_t counts[] = {2, 3, 4, 5, 17, LANES};

	for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
		struct lanes lanes = {.looks = 0};

		for (uint32_t index = 0; index < counts[at]; index++)
			lanes.connected[index] = true;
		balanced(&lanes, counts[at], counts[at]);
	}
	/* 60 of 64 are away, at the end of the list, and anywhere. */
	for (uint32_t step = 1; step <= 16; step *= 4) {
		struct lanes lanes = {.looks = 0};

		for (uint32_t index = 0; index < 4; index++)
			lanes.connected[index * step] = true;
		balanced(&lanes, LANES, 4);
	}
}

/* All empty, as when receivers keep up. */
TEST(idle_lanes_take_turns)
{
	struct lanes lanes = {.looks = 0};
	struct k2i_spread_lanes four = spread(&lanes, 4);
	uint32_t counts[4] = {0};
	uint64_t random = 1;

	memset(lanes.connected, 1, sizeof(lanes.connected));
	for (uint32_t round = 0; round < PATHS; round++)
		counts[k2i_spread_random(&four, &random)]++;
	for (uint32_t index = 0; index < 4; index++)
		assert_in_range(counts[index], PATHS / 4 * 9 / 10, PATHS / 4 * 11 / 10);
}

TEST(two_of_many_are_looked_at)
{
	struct lanes lanes = {.looks = 0};
	struct k2i_spread_lanes all = spread(&lanes, LANES);
	uint64_t random = 1;

	memset(lanes.connected, 1, sizeof(lanes.connected));
	lanes.bytes[3] = 1000;
	for (uint32_t round = 0; round < PATHS; round++)
		assert_int_not_equal(k2i_spread_random(&all, &random), 3);
	assert_int_equal(lanes.looks, 2 * PATHS);
}
