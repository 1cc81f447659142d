/* SPDX-License-Identifier: MIT */
/* Chunks that somebody else seals, and who waits for that. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "unit.h"
#include "base/clock.h"
#include "sender/sender.h"
#include "sender/call.h"
#include "sender/writer.h"

#define LONG_NS UINT64_C(20000000000)

struct flush {
	struct k2hft_sender *sender;
	atomic_bool sealed;
	int status;
};

static void *flush(void *argument)
{
	struct flush *flush = argument;
	uint64_t ticket = k2i_sender_seal(flush->sender);

	atomic_store(&flush->sealed, true);
	flush->status = k2i_sender_sealed_wait(flush->sender, ticket, k2i_clock_ns(CLOCK_MONOTONIC) + LONG_NS);
	return NULL;
}

/* The writer is at the end of its call, and has not looked for a ticket yet. */
TEST(who_waits_for_a_ticket_hears_of_another_sealer)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	struct k2hft_ring_options options = {.size = sizeof(options)};
	struct flush waiting = {.status = 1};
	struct k2hft_writer *writer;
	struct k2hft_span span;
	pthread_t thread;

	assert_int_equal(k2i_sender_create(&options, K2HFT_FULL_BLOCK, &waiting.sender), 0);
	assert_int_equal(k2hft_writer_open(waiting.sender, "a", &writer), 0);
	assert_int_equal(k2hft_writer_write(writer, "line", 4), 0);
	k2i_writer_enter(writer);
	assert_int_equal(pthread_create(&thread, NULL, flush, &waiting), 0);
	do
		(void)nanosleep(&pause, NULL);
	while (!atomic_load(&waiting.sealed));
	(void)nanosleep(&pause, NULL);
	atomic_store(&writer->busy, 0);
	(void)k2i_sender_seal(waiting.sender);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(waiting.status, 0);
	assert_int_equal(k2hft_ring_read(waiting.sender->lanes[0]->ring, SIZE_MAX, 0, &span, NULL), 1);
	assert_int_equal(k2hft_ring_release(waiting.sender->lanes[0]->ring, span.position + span.bytes), 0);
	k2hft_writer_close(writer);
	k2i_sender_free(waiting.sender);
}
