/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/clock.h"
#include "app/store/memory_limit.h"
#include "app/store/store.h"

#define BLOCK_BYTES ((size_t)4096)
#define PHASES 16u

#define WAITING_BYTES_MAX (UINT64_C(64) << 20)
#define WAITING_BYTES_MIN (2 * K2I_STORE_BEHIND_BYTES)
#define WAITING_ALL_BYTES (UINT64_C(256) << 20)
#define WAITING_MEMORY_SHARE 8u

/* Asked once: it takes several files, and hardly ever becomes another. */
static uint64_t waiting_all_bytes(void)
{
	static _Atomic uint64_t known; /* 0: not yet */
	/* relaxed: it stands alone, and who asks at the same time finds the same. */
	uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

	if (bytes)
		return bytes;
	bytes = k2i_memory_bytes() / WAITING_MEMORY_SHARE;
	if (bytes > WAITING_ALL_BYTES)
		bytes = WAITING_ALL_BYTES;
	atomic_store_explicit(&known, bytes, memory_order_relaxed);
	return bytes;
}

uint64_t k2i_store_waiting_bytes(unsigned file_count)
{
	uint64_t bytes = waiting_all_bytes();

	if (file_count > 1)
		bytes /= file_count;
	if (bytes < WAITING_BYTES_MIN)
		return WAITING_BYTES_MIN;
	return bytes < WAITING_BYTES_MAX ? k2i_align_down(bytes, BLOCK_BYTES) : WAITING_BYTES_MAX;
}

/*
 * How many files grow, so that they share what may wait. A file that stops growing needs nothing, since the kernel writes
 * what it has, and says nothing; so those are counted that were written to in a second, anew in each.
 */
static _Atomic uint64_t growing; /* the second, how many there were in the one before, and in this one up to now */
#define COUNT_BITS 16u
#define COUNT_MAX ((UINT64_C(1) << COUNT_BITS) - 1)

static uint64_t growing_next(uint64_t before, uint32_t second, uint32_t counted)
{
	uint32_t last_second = (uint32_t)(before >> 2 * COUNT_BITS);
	uint64_t last_count = before >> COUNT_BITS & COUNT_MAX, count = before & COUNT_MAX;

	/* A thread that was held up since it looked at the clock is late: others have begun the next second. */
	if ((int32_t)(second - last_second) < 0)
		second = last_second;
	if (second != last_second) {
		last_count = second == last_second + 1 ? count : 0;
		count = 0;
	}
	if (counted != second && count < COUNT_MAX)
		count++;
	return (uint64_t)second << 2 * COUNT_BITS | last_count << COUNT_BITS | count;
}

static unsigned growing_count(struct k2i_store_behind *behind)
{
	uint32_t second = (uint32_t)(k2i_clock_ns(CLOCK_MONOTONIC_COARSE) / K2I_SECOND_NS);
	/* relaxed: a count that nothing else depends on. */
	uint64_t before = atomic_load_explicit(&growing, memory_order_relaxed), now;

	do
		now = growing_next(before, second, behind->counted);
	while (!atomic_compare_exchange_weak_explicit(&growing, &before, now, memory_order_relaxed,
						      memory_order_relaxed));
	behind->counted = (uint32_t)(now >> 2 * COUNT_BITS);
	uint64_t last_count = now >> COUNT_BITS & COUNT_MAX, count = now & COUNT_MAX;
	return (unsigned)(last_count > count ? last_count : count);
}

void k2i_store_behind_set(struct k2i_store_behind *behind, uint64_t length)
{
	behind->done = behind->dropped = behind->started = k2i_align_down(length, BLOCK_BYTES);
	behind->counted = 0;
}

static void range_start(const struct k2i_store_options *options, int descriptor, uint64_t from, uint64_t to)
{
	if (options->mode == K2I_STORE_BUFFERED && !options->direct)
		(void)sync_file_range(descriptor, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

/*
 * As far as the disk has it. The kernel gives up only what lies wholly in the range, and a page of it can be as large as a
 * write: what begins before the range was not given up with the one before.
 */
static void range_drop(const struct k2i_store_options *options, int descriptor, uint64_t from, uint64_t to)
{
	from -= from < K2I_STORE_BEHIND_BYTES ? from : K2I_STORE_BEHIND_BYTES;
	if (options->cache == K2I_STORE_DROP && !options->direct)
		(void)posix_fadvise(descriptor, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
}

/*
 * A thread that waits is told of an error, and the kernel tells it once for each open(2). Where there is no such call
 * nobody waits, and nothing is told (a seccomp filter that does not know it says EPERM).
 */
static int range_finish(const struct k2i_store_options *options, int descriptor, uint64_t from, uint64_t to)
{
	int error = 0;

	if (options->mode == K2I_STORE_BUFFERED && !options->direct &&
	    sync_file_range(descriptor, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WAIT_BEFORE) < 0 &&
	    errno != ENOSYS && errno != EPERM)
		error = -errno;
	range_drop(options, descriptor, from, to);
	return error;
}

/*
 * Files that grow together would all have a stretch full at the same moment: the disk would idle, then have more than it
 * can take, and who reads from it meanwhile would wait behind that. So their first stretches have different lengths.
 */
static uint64_t stretch_bytes(const struct k2i_store_behind *behind, int descriptor)
{
	bool first = behind->started == behind->done;

	return K2I_STORE_BEHIND_BYTES - (first ? (unsigned)descriptor % PHASES * (K2I_STORE_BEHIND_BYTES / PHASES) : 0);
}

int k2i_store_behind_advance(struct k2i_store_behind *behind, const struct k2i_store_options *options, int descriptor,
			     uint64_t length)
{
	/* The page that the file ends in is written again anyway. */
	uint64_t end = k2i_align_down(length, BLOCK_BYTES), waiting_bytes;
	int error;

	if (end < behind->started + stretch_bytes(behind, descriptor))
		return 0;
	range_start(options, descriptor, behind->started, end);
	/*
	 * With many files the disk has what was started a stretch ago, and its pages are free for what comes next.
	 * Pages that it does not have yet are dropped further below, by the thread that waits for them.
	 */
	if (behind->started > behind->dropped)
		range_drop(options, descriptor, behind->dropped, behind->started);
	behind->dropped = behind->started;
	behind->started = end;
	waiting_bytes = k2i_store_waiting_bytes(growing_count(behind));
	if (end - behind->done <= waiting_bytes)
		return 0;
	error = range_finish(options, descriptor, behind->done, end - waiting_bytes);
	behind->done = end - waiting_bytes;
	return error;
}

void k2i_store_behind_end(struct k2i_store_behind *behind, const struct k2i_store_options *options, int descriptor,
			  uint64_t length)
{
	if (length > behind->started)
		range_start(options, descriptor, behind->started, length);
	k2i_store_behind_set(behind, length);
}
