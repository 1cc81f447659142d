/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "session_world.h"

/* `acked` and BYE's token of a sender that comes again; whether it was known, and so goes on at 40. */
static bool comes_again(struct world *world, uint64_t id, uint64_t acked, uint64_t token)
{
	struct k2hft_welcome welcome;

	session_again(world, id);
	put_hello(world, "ring", 1, acked);
	put_bye(world, token);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	welcome = expect_welcome(world);
	assert_int_equal(welcome.position, 40);
	return welcome.flags & K2HFT_WELCOME_KNOWN;
}

/*
 * The last word on a ring that never comes again. A sender that was not acknowledged everything is not believed;
 * another, that was, goes on there without the ledger.
 */
SESSION_TEST(test_a_ring_that_ends_is_forgotten)
{
	uint64_t id = 2, token;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	put_bye(world, 0);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 40, K2HFT_STATUS_OK);
	for (token = 0; token <= 80; token += 8) {
		if (token != 40)
			assert_true(comes_again(world, id++, 0, token));
	}
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 1);
	assert_true(comes_again(world, id++, 0, 40));
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 0);
	assert_false(comes_again(world, id, 40, 0));
	world_close(world);
	world_open(world);
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 0);
	expect_file(world, "file", "a");
	session_open(world, 1);
}

/* A session whose ring has connected again has nothing to say about it. */
SESSION_TEST(test_a_twin_does_not_end_the_ring)
{
	static struct k2i_session old;
	size_t consumed, wanted;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	old = world->session;
	session_open(world, 2);
	open_session(world);
	put_bye(world, 40);
	assert_int_equal(k2i_session_input(&old, world->input, world->input_bytes, &consumed, &wanted),
			 K2I_SESSION_CLOSE);
	k2i_session_end(&old);
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 1);
	/* The one that has it can. */
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 0);
}

static unsigned begins, ends;

static void visits_count(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	begins += strstr(text, " connected, ring ") != NULL;
	ends += strstr(text, " disconnected at ") != NULL;
}

static void visit(struct world *world, uint64_t id, const char *peer)
{
	session_open(world, id);
	world->session.peer = peer;
	open_session(world);
	k2i_session_end(&world->session);
}

/* A peer that comes and goes without end fills no log, and leaves others their lines. */
SESSION_TEST(test_lines_about_one_peer_have_a_limit)
{
	unsigned id, said;
	char peer[32];

	k2hft_log_callback_set(visits_count, NULL, K2HFT_LOG_INFO);
	for (id = 2; id < 4000; id++) {
		(void)snprintf(peer, sizeof(peer), "192.0.2.1:%u", id);
		visit(world, id, peer);
		if (id == 10)
			assert_true(begins == 9 && ends == 9);
	}
	assert_true(begins < 1000 && ends < 1000);
	said = begins + ends;
	visit(world, id, "192.0.2.2:1");
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	assert_int_equal(begins + ends, said + 2);
}
