/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

#include <errno.h>

/* A successor learns whether the last commit of a process took place. */
FILES_TEST(a_commit_outlives_its_process)
{
	for (int committed = 0; committed < 2; committed++) {
		struct k2hft_ring *ring = file_ring(files->path, 0), *attached;
		struct k2hft_producer *producer = producer_of(ring);
		uint64_t position;

		assert_int_equal(push(producer, stream_of(ring, "s"), "before"), 0);
		(void)reserve(producer, 104);
		position = k2hft_producer_position(producer);
		assert_int_equal(position, stats_of(ring).tail - 136);
		if (committed)
			assert_int_equal(commit(producer, stream_of(ring, "s"), 16, 8), 0);
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
		ring = file_ring(files->path, 0);
		assert_int_equal(k2hft_ring_committed(ring, position), committed);
		assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
		assert_int_equal(k2hft_ring_committed(attached, position), -EINVAL);
		k2hft_ring_close(attached);
		k2hft_ring_close(ring);
	}
}

FILES_TEST(a_ring_is_observed_without_being_opened)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT, own;
	int served = 7;

	assert_int_equal(push(producer, stream_of(ring, "s"), "x"), 0);
	k2hft_producer_close(producer);
	own = stats_of(ring);
	own.streams_forgotten = 0; /* that is known to the handle only */
	errno = 77;
	assert_int_equal(k2hft_ring_observe(files->path, &stats, &served), 0);
	assert_int_equal(served, 1);
	assert_memory_equal(&stats, &own, sizeof(own));
	k2hft_ring_close(ring);
	assert_int_equal(k2hft_ring_observe(files->path, &stats, &served), 0);
	assert_int_equal(served, 0);
	assert_int_equal(stats.unacked_records, 1);
	assert_int_equal(k2hft_ring_observe(files->path, &stats, NULL), 0);
	assert_int_equal(k2hft_ring_observe("/nowhere", &stats, &served), -ENOENT);
	assert_int_equal(k2hft_ring_observe("/dev/null", &stats, &served), -EPROTO);
	assert_int_equal(errno, 77);
}
