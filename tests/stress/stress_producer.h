/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_STRESS_STRESS_PRODUCER_H
#define K2I_TESTS_STRESS_STRESS_PRODUCER_H

/*
 * Chunks of a producer, with its number, its life (how often it was started), a counter and a checksum, in
 * random sizes, some cut at both ends, some discarded.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>

#include "base/hash.h"

#define PRODUCERS_MAX 8
#define PAYLOAD_BYTES_MAX 6000u

/* Memory in which the producers and the consumer tell each other how far they are. */
struct board {
	_Atomic uint32_t stop;
	_Atomic uint64_t committed[PRODUCERS_MAX]; /* by the present life */
};

struct worker {
	struct board *board;
	struct k2hft_ring *ring; /* of a thread */
	const char *link;        /* for a process that attaches */
	uint32_t number, life;
	pthread_t thread;
	pid_t process;
};

struct stamp {
	uint32_t number, life;
	uint64_t counter;
	uint64_t checksum; /* of what follows */
};

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static inline uint32_t random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void payload_fill(uint8_t *payload, size_t bytes, const struct worker *worker, uint64_t counter,
				uint32_t *random)
{
	struct stamp stamp = {.number = worker->number, .life = worker->life, .counter = counter};

	memset(payload + sizeof(stamp), (int)random_next(random), bytes - sizeof(stamp));
	stamp.checksum = k2i_hash(payload + sizeof(stamp), bytes - sizeof(stamp));
	memcpy(payload, &stamp, sizeof(stamp));
}

/* A chunk more, or a claim that was discarded. Returns what reserve says. */
static inline int chunk_produce(struct k2hft_producer *producer, const struct worker *worker, uint32_t stream_id,
				uint64_t *counter, uint32_t *random)
{
	size_t bytes = sizeof(struct stamp) + 1 + random_next(random) % (PAYLOAD_BYTES_MAX - sizeof(struct stamp));
	size_t front = random_next(random) % 4 ? 0 : random_next(random) % 100;
	size_t rear = random_next(random) % 4 ? 0 : random_next(random) % 2000;
	struct k2hft_chunk chunk = {.stream_id = stream_id, .record_count = 1};
	void *payload;
	int status = k2hft_producer_reserve(producer, front + bytes + rear, &payload);

	if (status)
		return status;
	/* All of it: what goes back was written, too. */
	memset(payload, (int)random_next(random), front + bytes + rear);
	if (random_next(random) % 4 == 0) {
		if (random_next(random) % 4 == 0)
			(void)sched_yield();
		return k2hft_producer_discard(producer);
	}
	payload_fill((uint8_t *)payload + front, bytes, worker, *counter, random);
	status = k2hft_producer_commit(producer, &chunk, front, bytes);
	(*counter)++;
	return status;
}

static inline void produce(struct k2hft_ring *ring, const struct worker *worker)
{
	struct board *board = worker->board;
	uint32_t random = 0x9e3779b9u * (worker->number + 1 + worker->life * 16), stream_id;
	const struct k2hft_stream stream = {.path = "stress"};
	struct k2hft_producer *producer;
	uint64_t counter = 0;

	REQUIRE(k2hft_stream_declare(ring, &stream, &stream_id) == 0);
	REQUIRE(k2hft_producer_open(ring, &producer) == 0);
	while (!atomic_load(&board->stop)) {
		int status = chunk_produce(producer, worker, stream_id, &counter, &random);

		REQUIRE(status == 0 || status == -EAGAIN);
		if (status == -EAGAIN) {
			status = k2hft_ring_space_wait(ring, PAYLOAD_BYTES_MAX + 2100, 100);
			REQUIRE(status == 0 || status == -ETIMEDOUT || status == -EINTR);
		}
	}
	atomic_store(&board->committed[worker->number], counter);
	k2hft_producer_close(producer);
}

static inline void stamp_read(const struct k2hft_chunk_view *view, struct stamp *stamp)
{
	REQUIRE(view->payload_bytes > sizeof(*stamp));
	memcpy(stamp, view->payload, sizeof(*stamp));
	REQUIRE(stamp->number < PRODUCERS_MAX);
	REQUIRE(stamp->checksum == k2i_hash(view->payload + sizeof(*stamp), view->payload_bytes - sizeof(*stamp)));
}

static inline void process_start(struct worker *worker)
{
	worker->process = fork();
	REQUIRE(worker->process >= 0);
	if (worker->process == 0) {
		struct k2hft_ring *attached;

		int status;

		/* There can be none for a moment, between two consumers. */
		while ((status = k2hft_ring_attach(worker->link, &attached)) == -ENOTCONN)
			(void)sched_yield();
		REQUIRE(status == 0);
		produce(attached, worker);
		k2hft_ring_close(attached);
		_exit(0);
	}
}

static inline struct board *board_make(void)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(board != MAP_FAILED);
	return board;
}

#endif
