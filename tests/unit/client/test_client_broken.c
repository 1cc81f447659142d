/* SPDX-License-Identifier: MIT */
/* A ring that stays damaged however often it is mended, as under a process that goes on writing where it may not. */
#include "unit.h"
#include "client_drain.h"
#include "client_peer.h"

#include <pthread.h>

#include "client/state.h"
#include "ring/layout.h"

/* The linker has the library call this: so many times it mends nothing. */
static unsigned vain, repairs;

int __real_k2hft_ring_repair(struct k2hft_ring *ring);
int __wrap_k2hft_ring_repair(struct k2hft_ring *ring);
int __wrap_k2hft_ring_repair(struct k2hft_ring *ring)
{
	return repairs++ < vain ? 1 : __real_k2hft_ring_repair(ring);
}

static void damaged_push(struct fixture *f, unsigned vain_repairs)
{
	const uint8_t junk[32] = {0xa5};
	uint64_t position = ring_stats_of(f).tail;

	vain = vain_repairs;
	repairs = 0;
	push(f, "lost\n");
	assert_int_equal(pwrite(k2hft_ring_descriptor(f->ring), junk, sizeof(junk), (off_t)(K2I_DATA_AT + position)),
			 sizeof(junk));
}

CLIENT_TEST(mended_in_the_end_it_goes_on)
{
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	for (unsigned time = 0; time < 2; time++) {
		damaged_push(f, K2I_CLIENT_REPAIRS_MAX - 1);
		push(f, "kept\n");
		assert_int_equal(peer_discard(f).reason, K2HFT_DISCARD_REPAIRED);
		(void)peer_data(f);
		assert_int_equal(f->end, ring_stats_of(f).tail);
		assert_int_equal(repairs, K2I_CLIENT_REPAIRS_MAX);
	}
}

STATE_TEST(damaged_without_end_it_is_given_up, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	int error = 0;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	damaged_push(f, UINT32_MAX);
	for (int round = 0; error == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		error = k2hft_client_process(f->client, f->now_ns += MS);
	}
	assert_int_equal(error, -EIO);
	assert_int_equal(repairs, K2I_CLIENT_REPAIRS_MAX + 1);
	assert_non_null(strstr(f->log, "0 client: the ring can't be used any more"));
	assert_null(strstr(f->log, "trying again"));
	assert_string_equal(stats_of(f).last_error, "the ring can't be used any more");
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	/* For ever: no connection is made any more. */
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->now_ns + 3600 * 1000 * MS), -1);
	assert_int_equal(k2hft_client_process(f->client, f->now_ns + 3600 * 1000 * MS), -EIO);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_int_equal(repairs, K2I_CLIENT_REPAIRS_MAX + 1);
}

/* Messages of the client's thread are answered here. */
static void thread_greet(struct fixture *f)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	struct pollfd listener = {.fd = f->listener, .events = POLLIN};
	struct k2hft_frame frame;

	assert_int_equal(poll(&listener, 1, 20000), 1);
	f->peer = accept(f->listener, NULL, NULL);
	assert_true(f->peer >= 0);
	assert_int_equal(recv(f->peer, f->input, K2HFT_FRAME_HEADER_BYTES, MSG_WAITALL), K2HFT_FRAME_HEADER_BYTES);
	assert_int_equal(k2hft_frame_header_decode(f->input, K2HFT_FRAME_HEADER_BYTES, PEER_BODY_BYTES, &frame), 0);
	assert_int_equal(recv(f->peer, f->input, frame.body_bytes, MSG_WAITALL), frame.body_bytes);
	peer_welcome(f, &welcome);
}

CLIENT_TEST(who_waits_for_it_is_told)
{
	pthread_t drain;

	f->options.progress = NULL;
	client_open(f);
	damaged_push(f, UINT32_MAX);
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
	drain_begin(f, &drain);
	assert_false(k2i_client_failed(f->client));
	thread_greet(f);
	drain_end(drain, -EIO);
	assert_true(k2i_client_failed(f->client));
	assert_int_equal(k2hft_client_drain(f->client, 60000), -EIO);
}
