/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "session_world.h"

/* The ledger is behind what it acknowledged once: it was lost. */
SESSION_TEST(test_a_ledger_that_was_lost_is_noticed)
{
	struct k2hft_hello hello = hello_make("ring", 1, 400);

	memcpy(hello.receiver_uuid, world->shared.receiver_uuid, 16);
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, 400);
	/* Nor has a sender without an acknowledgement lost anything, nor one whose lane was elsewhere. */
	session_again(world, 2);
	put_hello(world, "elsewhere", 1, 400);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, 400);
	hello = hello_make("idle", 1, 0);
	memcpy(hello.receiver_uuid, world->shared.receiver_uuid, 16);
	session_again(world, 2);
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(atomic_load(&world->counters.ledger_lost), 1);
	/* Nor has one that another receiver has acknowledged more since; one that was acknowledged more here has. */
	session_again(world, 3);
	put_hello(world, "moved", 1, 0);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	for (unsigned here = 0; here < 2; here++) {
		session_again(world, 4 + here);
		hello = hello_make("moved", 1, 400);
		if (here)
			memcpy(hello.receiver_uuid, world->shared.receiver_uuid, 16);
		world->session.output_bytes = 0;
		put_greeting(world, &hello);
		assert_int_equal(take(world), K2I_SESSION_MORE);
		assert_int_equal(expect_welcome(world).position, 400);
		assert_int_equal(atomic_load(&world->counters.ledger_lost), 1 + here);
	}
}

/* Two machines restored from one image have the same ring, each with an opening of its own. */
SESSION_TEST(test_a_second_opening_is_refused)
{
	struct k2hft_hello hello = hello_make("ring", 5, 0);
	struct k2i_session first = {0};

	hello.opening = 1;
	put_greeting(world, &hello);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	first = world->session;
	session_open(world, 2);
	hello.opening = 2;
	put_greeting(world, &hello);
	expect_refused(world, K2HFT_ERROR_FENCED);
	assert_int_equal(fenced_id, 0);
	/* A copy that says so, and the same opening again, are none. */
	for (uint64_t id = 3; id <= 4; id++) {
		session_again(world, id);
		hello.flags = id == 3 ? K2HFT_HELLO_COPY : 0;
		hello.opening = id == 3 ? 2 : 1;
		put_greeting(world, &hello);
		assert_int_equal(take(world), K2I_SESSION_MORE);
		(void)expect_welcome(world);
		assert_int_equal(fenced_id, 1);
	}
	/* A later epoch ends the older one. */
	first.output_bytes = 0;
	k2i_session_end(&first);
	first = world->session;
	session_open(world, 5);
	hello.epoch = 6;
	hello.opening = 9;
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(fenced_id, 4);
	k2i_session_end(&first);
}

/* A receiver that was held up finds both HELLOs of a sender that has come again, and reads the later one first. */
SESSION_TEST(test_an_attempt_that_was_given_up_ends_no_later_one)
{
	struct k2hft_hello hello = hello_make("ring", 5, 0);
	struct k2i_session later;

	hello.opening = 1;
	hello.attempt = 2;
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	later = world->session;
	session_open(world, 2);
	hello.attempt = 1;
	put_greeting(world, &hello);
	expect_refused(world, K2HFT_ERROR_FENCED);
	assert_int_equal(fenced_id, 0);
	/* A later one does, and one that tells no attempt. */
	for (uint64_t id = 3; id <= 4; id++) {
		session_again(world, id);
		hello.attempt = id == 3 ? 3 : 0;
		put_greeting(world, &hello);
		assert_int_equal(take(world), K2I_SESSION_MORE);
		(void)expect_welcome(world);
		assert_int_equal(fenced_id, 1);
	}
	later.output_bytes = 0;
	k2i_session_end(&later);
}
