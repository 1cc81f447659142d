/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_STRESS_RING_STRESS_H
#define K2I_TESTS_STRESS_RING_STRESS_H

/*
 * A body for all kinds of producer. The program that includes this has three hooks, which start the producers, may
 * disturb them while they work, and stop them. The consumer checks that each life's counters come without a hole and in
 * order, and at the end that the last one has come.
 */
#include "stress_producer.h"

struct stress {
	struct k2hft_ring *ring;
	struct board *board;
	char link[64]; /* for those who attach */
	unsigned producers;
	struct worker workers[PRODUCERS_MAX];
	uint32_t life_seen[PRODUCERS_MAX];
	uint64_t counter_next[PRODUCERS_MAX];
	uint64_t chunks, claims_recovered, kills;
	uint32_t random;
};

/* The hooks. */
static void workers_start(struct stress *stress);
static void workers_disturb(struct stress *stress);
static void workers_end(struct stress *stress);

static inline void chunk_check(struct stress *stress, const struct k2hft_chunk_view *view)
{
	struct stamp stamp;

	stamp_read(view, &stamp);
	REQUIRE(stamp.number < stress->producers);
	if (stamp.life != stress->life_seen[stamp.number]) {
		REQUIRE(stamp.life > stress->life_seen[stamp.number]);
		stress->life_seen[stamp.number] = stamp.life;
		stress->counter_next[stamp.number] = 0;
	}
	REQUIRE(stamp.counter == stress->counter_next[stamp.number]);
	stress->counter_next[stamp.number]++;
	stress->chunks++;
}

/* Reads a span, now and then twice; acknowledges it, or only some of it and comes back for the rest. */
static inline bool span_consume(struct stress *stress, int *claimed)
{
	size_t bytes_max = random_next(&stress->random) % 30000, offset = 0;
	uint64_t end_checked = 0, records_max = random_next(&stress->random) % 5;
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	int chunks = k2hft_ring_read(stress->ring, bytes_max, records_max, &span, claimed), count = 0;

	REQUIRE(chunks >= 0);
	if (chunks == 0)
		return false;
	if (random_next(&stress->random) % 16 == 0) {
		REQUIRE(k2hft_ring_rewind(stress->ring, span.position) == 0);
		REQUIRE(k2hft_ring_read(stress->ring, span.bytes, 0, &span, claimed) == chunks);
	}
	while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1) {
		chunk_check(stress, &view);
		end_checked = view.end;
		count++;
		if (random_next(&stress->random) % 16 == 0)
			break;
	}
	REQUIRE(k2hft_ring_release(stress->ring, end_checked) == 0);
	if (count == chunks)
		REQUIRE(offset == span.bytes);
	else
		REQUIRE(k2hft_ring_rewind(stress->ring, end_checked) == 0);
	return true;
}

static inline void sleep_if_empty(struct stress *stress)
{
	struct pollfd wait = {.fd = k2hft_ring_wake_descriptor(stress->ring), .events = POLLIN};

	if (k2hft_ring_sleep(stress->ring)) {
		/* Long enough that a wake that was lost shows as a rate of almost nothing. */
		(void)poll(&wait, 1, 20);
		k2hft_ring_awake(stress->ring);
	}
}

static inline void consume_until(struct stress *stress, uint64_t end_ns)
{
	int claimed = 0;

	while (now_ns() < end_ns) {
		for (unsigned count = 0; count < 64; count++) {
			if (span_consume(stress, &claimed))
				continue;
			if (claimed)
				stress->claims_recovered += (uint64_t)k2hft_ring_recover(stress->ring);
			sleep_if_empty(stress);
			break;
		}
		workers_disturb(stress);
	}
}

static inline void drain(struct stress *stress)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	int claimed;

	do {
		while (span_consume(stress, &claimed))
			continue;
		REQUIRE(!claimed || k2hft_ring_recover(stress->ring) == 1);
	} while (claimed);
	REQUIRE(k2hft_ring_stats(stress->ring, &stats) == 0);
	REQUIRE(stats.head == stats.tail);
	REQUIRE(stats.damaged_bytes == 0);
	/* A producer counts first: one that is killed then has counted a chunk that nobody got. */
	REQUIRE(stats.committed_records >= stats.acked_records);
	REQUIRE(stats.committed_records - stats.acked_records <= stress->kills);
	REQUIRE(k2hft_ring_validate(stress->ring) == 0);
	REQUIRE(k2hft_ring_repair(stress->ring) == 0);
	REQUIRE(k2hft_ring_stats(stress->ring, &stats) == 0);
	REQUIRE(stats.producers == 0);
}

/* The last chunk of everybody who was not killed has come. */
static inline void all_arrived(struct stress *stress)
{
	for (unsigned at = 0; at < stress->producers; at++) {
		bool seen = stress->life_seen[at] == stress->workers[at].life;

		REQUIRE((seen ? stress->counter_next[at] : 0) == atomic_load(&stress->board->committed[at]));
	}
}

static inline void stress_run(struct stress *stress, uint64_t duration_ns)
{
	struct k2hft_ring_options options = {.size = sizeof(options)};

	/* The largest has small areas. */
	const uint64_t sizes[] = {K2HFT_RING_BYTES_MIN, 16 * K2HFT_RING_BYTES_MIN, 128 * K2HFT_RING_BYTES_MIN};

	options.ring_bytes = sizes[stress->producers % 3];
	REQUIRE(k2hft_ring_open(&options, &stress->ring) == 0);
	(void)snprintf(stress->link, sizeof(stress->link), "/proc/%d/fd/%d", (int)getpid(),
		       k2hft_ring_descriptor(stress->ring));
	stress->board = board_make();
	for (unsigned at = 0; at < stress->producers; at++)
		stress->workers[at] = (struct worker){
			.board = stress->board, .ring = stress->ring, .link = stress->link, .number = at};
	workers_start(stress);
	consume_until(stress, now_ns() + duration_ns);
	atomic_store(&stress->board->stop, 1);
	workers_end(stress);
	drain(stress);
	all_arrived(stress);
	printf("%u producers: %llu chunks, %llu killed, %llu claims recovered\n", stress->producers,
	       (unsigned long long)stress->chunks, (unsigned long long)stress->kills,
	       (unsigned long long)stress->claims_recovered);
	(void)munmap(stress->board, sizeof(*stress->board));
	k2hft_ring_close(stress->ring);
}

/* The argument is how many seconds all of it takes. */
int main(int count, char **arguments)
{
	uint64_t duration_ns = (count > 1 ? strtoull(arguments[1], NULL, 10) : 2) * 1000000000 / PRODUCERS_MAX;

	(void)setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned producers = 1; producers <= PRODUCERS_MAX; producers++) {
		struct stress stress = {.producers = producers, .random = 1 + producers};

		stress_run(&stress, duration_ns);
	}
	return 0;
}

#endif
