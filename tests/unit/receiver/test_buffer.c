/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "receiver/connection/buffer.h"

#define LARGE_SHARE (K2I_BUFFER_BYTES - K2I_BUFFER_BYTES_MIN)
/* An eighth of it is not for everybody: the rest is four large buffers. */
#define BUDGET_BYTES ((4 * LARGE_SHARE * 8 + 6) / 7)

static struct k2i_buffer_budget budget;
static struct k2i_buffer_pool pool;

static int setup(void **state)
{
	(void)state;
	budget = (struct k2i_buffer_budget){.bytes_max = BUDGET_BYTES};
	k2i_buffer_pool_start(&pool, &budget);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	k2i_buffer_pool_free(&pool);
	return atomic_load(&budget.taken) == 0 ? 0 : -1;
}

/* As a read does: `count` bytes that a rest can be told from another by. */
static void receive(struct k2i_buffer *buffer, size_t count)
{
	for (size_t index = 0; index < count; index++)
		buffer->bytes[buffer->used + index] = (uint8_t)((buffer->used + index) * 31 >> 4);
	buffer->used += count;
}

static bool received(const struct k2i_buffer *buffer)
{
	for (size_t index = 0; index < buffer->used; index++) {
		if (buffer->bytes[index] != (uint8_t)(index * 31 >> 4))
			return false;
	}
	return true;
}

#define CASE(name) FIXTURE_TEST(name, void *fixture, setup, teardown)

CASE(one_buffer_serves_connections_in_turn)
{
	struct k2i_buffer first = {0}, second = {0};
	uint8_t *bytes;

	k2i_buffer_widen(&pool, &first);
	assert_int_equal(first.capacity, K2I_BUFFER_BYTES);
	bytes = first.bytes;
	k2i_buffer_settle(&pool, &first);
	assert_null(first.bytes);
	assert_int_equal(first.capacity, 0);
	k2i_buffer_widen(&pool, &second);
	assert_ptr_equal(second.bytes, bytes);
	assert_int_equal(atomic_load(&budget.taken), LARGE_SHARE);
	k2i_buffer_release(&pool, &second);
}

CASE(a_short_rest_moves_away_and_back)
{
	struct k2i_buffer buffer = {0};
	uint8_t *bytes;

	k2i_buffer_widen(&pool, &buffer);
	bytes = buffer.bytes;
	receive(&buffer, 1000);
	k2i_buffer_settle(&pool, &buffer);
	assert_ptr_not_equal(buffer.bytes, bytes);
	assert_int_equal(buffer.capacity, 1000);
	assert_int_equal(pool.count, 1);
	k2i_buffer_widen(&pool, &buffer);
	assert_ptr_equal(buffer.bytes, bytes);
	receive(&buffer, K2I_BUFFER_BYTES_MIN - 1000);
	k2i_buffer_settle(&pool, &buffer);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES_MIN);
	assert_true(received(&buffer));
	k2i_buffer_release(&pool, &buffer);
}

CASE(a_long_rest_stays_where_it_is)
{
	struct k2i_buffer buffer = {0};
	uint8_t *bytes;

	k2i_buffer_widen(&pool, &buffer);
	bytes = buffer.bytes;
	receive(&buffer, K2I_BUFFER_BYTES_MIN + 1);
	k2i_buffer_settle(&pool, &buffer);
	k2i_buffer_widen(&pool, &buffer);
	assert_ptr_equal(buffer.bytes, bytes);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES);
	assert_int_equal(pool.count, 0);
	k2i_buffer_release(&pool, &buffer);
}

CASE(a_rest_that_stays_long_takes_what_it_needs)
{
	struct k2i_buffer buffer = {0};

	k2i_buffer_widen(&pool, &buffer);
	receive(&buffer, K2I_BUFFER_BYTES_MIN + 1);
	k2i_buffer_fit(&pool, &buffer);
	assert_int_equal(buffer.capacity, 2 * K2I_BUFFER_BYTES_MIN);
	assert_int_equal(atomic_load(&budget.taken), K2I_BUFFER_BYTES_MIN);
	assert_true(received(&buffer));
	/* It grows with what comes, to what the largest frame needs. */
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, 5 * K2I_BUFFER_BYTES_MIN), 0);
	assert_int_equal(buffer.capacity, 4 * K2I_BUFFER_BYTES_MIN);
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, 5 * K2I_BUFFER_BYTES_MIN), 0);
	assert_int_equal(buffer.capacity, 5 * K2I_BUFFER_BYTES_MIN);
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, 5 * K2I_BUFFER_BYTES_MIN), 0);
	assert_int_equal(buffer.capacity, 5 * K2I_BUFFER_BYTES_MIN);
	assert_int_equal(atomic_load(&budget.taken), 4 * K2I_BUFFER_BYTES_MIN);
	assert_true(received(&buffer));
	/* A buffer of another size than the others is no spare. */
	k2i_buffer_release(&pool, &buffer);
	assert_int_equal(pool.count, 0);
	assert_int_equal(atomic_load(&budget.taken), 0);
}

CASE(a_small_one_is_everybodys_right)
{
	struct k2i_buffer large[4] = {{0}}, buffer = {0};

	for (unsigned index = 0; index < 4; index++) {
		k2i_buffer_widen(&pool, &large[index]);
		assert_int_equal(large[index].capacity, K2I_BUFFER_BYTES);
	}
	k2i_buffer_widen(&pool, &buffer);
	assert_null(buffer.bytes);
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, K2I_BUFFER_BYTES), 0);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES_MIN);
	receive(&buffer, K2I_BUFFER_BYTES_MIN);
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, K2I_BUFFER_BYTES), -ENOBUFS);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES_MIN);
	k2i_buffer_release(&pool, &large[0]);
	k2i_buffer_widen(&pool, &buffer);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES);
	assert_true(received(&buffer));
	k2i_buffer_release(&pool, &buffer);
	for (unsigned index = 1; index < 4; index++)
		k2i_buffer_release(&pool, &large[index]);
}

/* A peer that begins frames and does not end them can't take everything from those that have ended some. */
CASE(an_eighth_is_for_who_has_proved_worth_it)
{
	struct k2i_buffer large[4] = {{0}}, begun = {0}, proved = {.proved = true};

	for (unsigned index = 0; index < 4; index++)
		k2i_buffer_widen(&pool, &large[index]);
	assert_int_equal(k2i_buffer_grow(&pool, &begun, K2I_BUFFER_BYTES), 0);
	assert_int_equal(k2i_buffer_grow(&pool, &begun, K2I_BUFFER_BYTES), -ENOBUFS);
	assert_int_equal(k2i_buffer_grow(&pool, &proved, K2I_BUFFER_BYTES), 0);
	assert_int_equal(k2i_buffer_grow(&pool, &proved, K2I_BUFFER_BYTES), 0);
	assert_int_equal(proved.capacity, 2 * K2I_BUFFER_BYTES_MIN);
	k2i_buffer_release(&pool, &proved);
	assert_true(proved.proved);
	k2i_buffer_widen(&pool, &proved);
	assert_null(proved.bytes);
	/* Memory that a connection gives up is the next one's, whichever that is. */
	atomic_store(&budget.starved, 1);
	k2i_buffer_release(&pool, &large[0]);
	k2i_buffer_widen(&pool, &begun);
	assert_int_equal(begun.capacity, K2I_BUFFER_BYTES);
	k2i_buffer_release(&pool, &begun);
	for (unsigned index = 1; index < 4; index++)
		k2i_buffer_release(&pool, &large[index]);
}

/* A spare is of one size: who needs another size gets its memory. */
CASE(a_frame_that_grows_takes_the_spares_memory)
{
	struct k2i_buffer large[3] = {{0}}, buffer = {0};

	k2i_buffer_widen(&pool, &buffer);
	for (unsigned index = 0; index < 3; index++)
		k2i_buffer_widen(&pool, &large[index]);
	k2i_buffer_release(&pool, &large[0]);
	assert_int_equal(pool.count, 1);
	receive(&buffer, K2I_BUFFER_BYTES);
	assert_int_equal(k2i_buffer_grow(&pool, &buffer, K2I_BUFFER_BYTES + LARGE_SHARE), 0);
	assert_int_equal(pool.count, 0);
	assert_int_equal(buffer.capacity, K2I_BUFFER_BYTES + LARGE_SHARE);
	assert_true(received(&buffer));
	k2i_buffer_release(&pool, &buffer);
	k2i_buffer_release(&pool, &large[1]);
	k2i_buffer_release(&pool, &large[2]);
}

CASE(what_nobody_needs_is_given_up)
{
	struct k2i_buffer buffers[3] = {{0}};

	for (unsigned index = 0; index < 3; index++)
		k2i_buffer_widen(&pool, &buffers[index]);
	for (unsigned index = 0; index < 3; index++)
		k2i_buffer_settle(&pool, &buffers[index]);
	assert_int_equal(pool.count, 3);
	/* All three were needed since the last time. */
	k2i_buffer_pool_tick(&pool);
	assert_int_equal(pool.count, 3);
	k2i_buffer_widen(&pool, &buffers[0]);
	k2i_buffer_settle(&pool, &buffers[0]);
	k2i_buffer_pool_tick(&pool);
	assert_int_equal(pool.count, 1);
	k2i_buffer_pool_tick(&pool);
	assert_int_equal(pool.count, 0);
	assert_int_equal(atomic_load(&budget.taken), 0);
}

CASE(a_loop_keeps_one_spare_while_others_starve)
{
	struct k2i_buffer buffers[3] = {{0}};

	for (unsigned index = 0; index < 3; index++)
		k2i_buffer_widen(&pool, &buffers[index]);
	k2i_buffer_settle(&pool, &buffers[0]);
	k2i_buffer_settle(&pool, &buffers[1]);
	assert_int_equal(pool.count, 2);
	atomic_store(&budget.starved, 1);
	k2i_buffer_settle(&pool, &buffers[2]);
	assert_int_equal(pool.count, 2);
	assert_int_equal(atomic_load(&budget.taken), 2 * LARGE_SHARE);
	k2i_buffer_pool_tick(&pool);
	assert_int_equal(pool.count, 1);
	k2i_buffer_widen(&pool, &buffers[0]);
	assert_int_equal(pool.count, 0);
	k2i_buffer_settle(&pool, &buffers[0]);
	assert_int_equal(pool.count, 1);
	/* Not one that it does not need. */
	k2i_buffer_pool_tick(&pool);
	k2i_buffer_pool_tick(&pool);
	assert_int_equal(pool.count, 0);
	assert_int_equal(atomic_load(&budget.taken), 0);
}
