/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_SESSION_SYNCED_HELP_H
#define K2I_TESTS_UNIT_SESSION_SYNCED_HELP_H

/* Sessions of level synced. Behind the headers that cmocka.h needs. */
#include "session_world.h"

/* Greets for level synced, or gets it anyway, with a stream 1. */
static struct k2i_syncer *synced_open(struct world *world, uint64_t acked, unsigned level, uint64_t position)
{
	struct k2hft_hello hello = hello_make("ring", 1, acked);
	struct k2hft_welcome welcome;

	if (!world->shared.syncer)
		assert_int_equal(k2i_syncer_start(&world->destination, 0, &world->shared.syncer), 0);
	hello.level = (uint8_t)level;
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	while (world->session.state == K2I_SESSION_GREETED) {
		assert_int_equal(world->session.output_bytes, 0);
		assert_int_equal(k2i_syncer_wait(world->shared.syncer, world->session.greeting.number), 0);
		(void)k2i_session_synced(&world->session);
	}
	welcome = expect_welcome(world);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(welcome.level, K2HFT_LEVEL_SYNCED);
	assert_int_equal(welcome.position, position);
	return world->shared.syncer;
}

static void synced_close(struct world *world)
{
	k2i_session_end(&world->session);
	k2i_syncer_stop(world->shared.syncer);
	world->shared.syncer = NULL;
}

/* Chunks that were taken are on the disk now, and acknowledged. */
static void expect_synced(struct world *world, uint64_t position)
{
	assert_int_equal(k2i_syncer_wait(world->shared.syncer, world->session.ring->rows[0].number), 0);
	assert_true(k2i_session_synced(&world->session));
	expect_ack(world, position, K2HFT_STATUS_OK);
}

static void put_and_sync(struct world *world, uint64_t position, const char *text)
{
	put_data(world, position, 0, 1, text);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_synced(world, position + 40 * strlen(text));
}

#endif
