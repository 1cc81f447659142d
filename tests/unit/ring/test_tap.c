/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct k2hft_tap *tap_of(const char *path)
{
	struct k2hft_tap *tap;

	errno = 77;
	assert_int_equal(k2hft_tap_open(path, &tap), 0);
	assert_int_equal(errno, 77);
	return tap;
}

static void record_push(struct k2hft_producer *producer, uint32_t stream_id, const char *text)
{
	struct k2hft_chunk chunk = {.stream_id = stream_id, .time_ns = 1234, .record_count = 1, .writer_pid = 5};

	assert_int_equal(k2hft_producer_push(producer, &chunk, text, strlen(text)), 0);
}

static void consume(struct k2hft_ring *ring)
{
	struct k2hft_span span;

	while (k2hft_ring_read(ring, 1000, 0, &span, NULL) > 0)
		assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
}

static void expect_chunk(struct k2hft_tap *tap, const char *path, const char *text)
{
	struct k2hft_tapped tapped;

	assert_int_equal(k2hft_tap_next(tap, &tapped), 1);
	assert_string_equal(tapped.path, path);
	assert_string_equal(tapped.host, "");
	assert_int_equal(tapped.mode, K2HFT_STREAM_TEXT);
	assert_int_equal(tapped.chunk.time_ns, 1234);
	assert_int_equal(tapped.chunk.writer_pid, 5);
	assert_int_equal(tapped.payload_bytes, strlen(text));
	assert_memory_equal(tapped.payload, text, strlen(text));
}

static void expect_none(struct k2hft_tap *tap)
{
	struct k2hft_tapped tapped;

	assert_int_equal(k2hft_tap_next(tap, &tapped), 0);
	assert_int_equal(tapped.missed, 0);
}

FILES_TEST(chunks_are_seen_before_and_behind_the_head)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t one = stream_of(ring, "one"), other = stream_of(ring, "a/other");
	struct k2hft_tap *tap = tap_of(files->path);
	void *payload;

	expect_none(tap);
	record_push(producer, one, "waits\n");
	expect_chunk(tap, "one", "waits\n");
	record_push(producer, other, "was acknowledged\n");
	consume(ring);
	expect_chunk(tap, "a/other", "was acknowledged\n");
	/* A claim is nothing to be seen. */
	assert_int_equal(k2hft_producer_reserve(producer, 100, &payload), 0);
	expect_none(tap);
	assert_int_equal(k2hft_producer_discard(producer), 0);
	record_push(producer, one, "x\n");
	expect_chunk(tap, "one", "x\n");
	expect_none(tap);
	k2hft_tap_close(tap);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* The next stream gets the number of one that is released and acknowledged. */
FILES_TEST(a_number_that_went_on_has_no_name)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream = stream_of(ring, "before");
	struct k2hft_tap *tap = tap_of(files->path);

	record_push(producer, stream, "1\n");
	record_push(producer, stream, "2\n");
	consume(ring);
	assert_int_equal(k2hft_stream_release(ring, stream), 0);
	expect_chunk(tap, "before", "1\n");
	assert_int_equal(stream_of(ring, "after"), stream);
	record_push(producer, stream, "3\n");
	expect_chunk(tap, "", "2\n");
	expect_chunk(tap, "after", "3\n");
	k2hft_tap_close(tap);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* A tap that was left alone for a lap goes on with what is there, and tells that there was more. */
FILES_TEST(a_lap_is_missed)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream = stream_of(ring, "s");
	struct k2hft_tap *tap = tap_of(files->path);
	struct k2hft_tapped tapped;

	for (unsigned at = 0; at < SMALL / 40 * 2; at++) {
		record_push(producer, stream, "gone\n");
		consume(ring);
	}
	assert_int_equal(k2hft_tap_next(tap, &tapped), 0);
	assert_int_equal(tapped.missed, 1);
	record_push(producer, stream, "next\n");
	expect_chunk(tap, "s", "next\n");
	k2hft_tap_close(tap);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* ---- while a producer and a consumer are at work */

static atomic_bool ended;

/* A payload of `bytes` that tells its length and number in each of its bytes. */
static void *writer_run(void *argument)
{
	struct k2hft_ring *ring = argument;
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_chunk chunk = {.stream_id = stream_of(ring, "s"), .record_count = 1};
	uint8_t *payload;
	void *memory;

	for (unsigned number = 0; !atomic_load(&ended); number++) {
		size_t bytes = 1 + number * 37 % 3000, room = bytes + number % 5 * 2000;

		if (k2hft_producer_reserve(producer, room, &memory) < 0)
			continue;
		payload = memory;
		memset(payload, (int)(bytes % 251), room);
		assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, bytes), 0);
	}
	k2hft_producer_close(producer);
	return NULL;
}

static void *consumer_run(void *argument)
{
	while (!atomic_load(&ended))
		consume(argument);
	return NULL;
}

FILES_TEST(what_is_seen_was_written)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_tap *tap = tap_of(files->path);
	struct k2hft_tapped tapped;
	pthread_t threads[2];
	uint64_t position = 0;

	atomic_store(&ended, false);
	assert_int_equal(pthread_create(&threads[0], NULL, writer_run, ring), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, consumer_run, ring), 0);
	for (unsigned seen = 0; seen < 1000;) {
		const uint8_t *payload;

		if (k2hft_tap_next(tap, &tapped) != 1)
			continue;
		seen++;
		assert_true(tapped.position > position || position == 0);
		position = tapped.position;
		payload = tapped.payload;
		for (size_t at = 0; at < tapped.payload_bytes; at++)
			assert_int_equal(payload[at], tapped.payload_bytes % 251);
	}
	atomic_store(&ended, true);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(pthread_join(threads[1], NULL), 0);
	k2hft_tap_close(tap);
	k2hft_ring_close(ring);
}

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 16;
}

/* Any bytes can stand in the file: nothing beyond it is read, and no call is without end. */
FILES_TEST(a_hostile_ring_gives_nothing_else)
{
	uint8_t noise[512];
	uint64_t seed = 1;

	for (unsigned round = 0; round < 100; round++) {
		struct k2hft_ring *ring = file_ring(files->path, K2HFT_RING_FRESH);
		struct k2hft_producer *producer = producer_of(ring);
		uint32_t stream = stream_of(ring, "s");
		struct k2hft_tapped tapped;
		struct k2hft_tap *tap;
		struct stat status;
		off_t at;
		int file;

		for (unsigned record = 0; record < 100; record++)
			record_push(producer, stream, "a record\n");
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
		file = open(files->path, O_RDWR | O_CLOEXEC);
		assert_true(file >= 0 && fstat(file, &status) == 0);
		for (size_t byte = 0; byte < sizeof(noise); byte++)
			noise[byte] = (uint8_t)random_next(&seed);
		/* The positions are behind the header's first part, which stays, or it is no ring; or among the data. */
		at = round % 2 ? 128 + (off_t)(random_next(&seed) % 512)
			       : status.st_size - SMALL + (off_t)(random_next(&seed) % 4096);
		assert_true(pwrite(file, noise, round % 4 < 2 ? 8 : sizeof(noise), at) > 0);
		tap = tap_of(files->path);
		for (unsigned call = 0; call < 200; call++) {
			int got = k2hft_tap_next(tap, &tapped);

			assert_true(got == 0 || (got == 1 && tapped.payload_bytes > 0 && strlen(tapped.path) < 1024));
		}
		assert_int_equal(ftruncate(file, 100), 0);
		assert_int_equal(k2hft_tap_next(tap, &tapped), -EPROTO);
		k2hft_tap_close(tap);
		(void)close(file);
	}
}

/* As root: in a child that is nobody. */
FILES_TEST(anothers_ring_is_refused)
{
	struct k2hft_tap *tap;
	pid_t child;
	int status;

	if (geteuid() != 0)
		skip();
	k2hft_ring_close(file_ring(files->path, 0));
	assert_int_equal(chmod(files->path, 0644), 0);
	assert_int_equal(chmod(files->folder, 0755), 0);
	child = fork();
	if (child == 0)
		_exit(chdir(files->folder) || setuid(65534) ||
		      k2hft_tap_open(strrchr(files->path, '/') + 1, &tap) != -EPERM);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(what_is_no_ring_is_refused)
{
	struct k2hft_tapped tapped;
	struct k2hft_tap *tap;

	assert_int_equal(k2hft_tap_open("/nowhere", &tap), -ENOENT);
	/* It is root's. */
	assert_int_equal(k2hft_tap_open("/dev/null", &tap), geteuid() == 0 ? -EPROTO : -EPERM);
	assert_int_equal(k2hft_tap_open(NULL, &tap), -EINVAL);
	assert_int_equal(k2hft_tap_open("/nowhere", NULL), -EINVAL);
	assert_int_equal(k2hft_tap_next(NULL, &tapped), -EINVAL);
	k2hft_tap_close(NULL);
}
