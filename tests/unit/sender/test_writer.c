/* SPDX-License-Identifier: MIT */
/* Writers, with the test as the consumer of their ring. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include <k2hft/frame.h>
#include <k2hft/log.h>
#include <k2hft/sender.h>

#include "unit.h"
#include "base/line_ends.h"
#include "base/utf8.h"
#include "random_help.h"
#include "sender/sender.h"
#include "sender/writer.h"
#include "writer_help.h"

/* Lines of the log with `text` in them. */
struct said {
	const char *text;
	unsigned count;
};

static void said_count(void *argument, enum k2hft_log_level level, const char *text)
{
	struct said *said = argument;

	(void)level;
	said->count += strstr(text, said->text) != NULL;
}

/* Counts of refused calls and cut records, of a sender and of its ring. */
static void assert_counted(struct k2hft_sender *sender, uint64_t refused_writes, uint64_t pieces)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	struct k2hft_ring_stats ring = {.size = sizeof(ring)};

	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.refused_writes, refused_writes);
	assert_int_equal(stats.pieces, pieces);
	assert_int_equal(k2hft_ring_stats(k2hft_sender_ring(sender), &ring), 0);
	assert_int_equal(ring.refused_writes, refused_writes);
	assert_int_equal(ring.pieces, pieces);
}

TEST(records_share_a_chunk_until_it_is_sealed)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	int claimed = 0;
	struct k2hft_span span;

	assert_int_equal(k2hft_writer_write(writer, "one", 3), 0);
	assert_int_equal(k2hft_writer_write(writer, "", 0), 0);
	assert_int_equal(k2hft_writer_write(writer, NULL, 0), 0);
	assert_int_equal(k2hft_writer_write(writer, "\0\r\xff", 3), 0);
	assert_int_equal(k2hft_ring_read(sender->lanes[0]->ring, MEBI, 0, &span, &claimed), 0);
	assert_int_equal(claimed, 1);
	take(sender, &taken);
	assert_int_equal(taken.byte_count, 10);
	assert_memory_equal(taken.bytes, "one\n\n\n\0\r\xff\n", 10);
	assert_int_equal(taken.chunks, 1);
	assert_int_equal(taken.last.record_count, 4);
	assert_int_equal(taken.last.writer_pid, getpid());
	assert_true(taken.last.time_ns > UINT64_C(1600000000000000000));
	free(taken.bytes);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, 0), 0);
}

TEST(a_line_end_inside_a_record_is_refused)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	assert_int_equal(k2hft_writer_write(writer, "a\nb", 3), -EINVAL);
	assert_int_equal(k2hft_writer_write(writer, NULL, 3), -EINVAL);
	assert_int_equal(k2hft_writer_write(writer, "one", 3), 0);
	assert_int_equal(k2hft_writer_write(writer, "as short\nas that", 16), -EINVAL);
	assert_counted(sender, 3, 0);
	take(sender, &taken);
	assert_taken(&taken, "one\n");
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

TEST(lengths_and_bytes_do_not_matter)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	uint8_t record[530], expected[16384];
	size_t bytes, at, byte_count = 0, count = 0;

	for (bytes = 0; bytes <= sizeof(record); bytes += bytes < 80 ? 1 : 15, count++) {
		for (at = 0; at < bytes; at++)
			record[at] = (uint8_t)((bytes * 40 + at) % 256 == '\n' ? 0x8a : (bytes * 40 + at) % 256);
		memcpy(expected + byte_count, record, bytes);
		byte_count += bytes;
		expected[byte_count++] = '\n';
		assert_int_equal(k2hft_writer_write(writer, record, bytes), 0);
		for (at = 0; at < bytes; at++) {
			uint8_t byte = record[at];

			record[at] = '\n';
			assert_int_equal(k2hft_writer_write(writer, record, bytes), -EINVAL);
			record[at] = byte;
		}
	}
	take(sender, &taken);
	assert_int_equal(taken.byte_count, byte_count);
	assert_memory_equal(taken.bytes, expected, byte_count);
	assert_int_equal(taken.records, count);
	free(taken.bytes);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, 0), 0);
}

TEST(chunks_grow_while_they_fill_and_shrink_when_they_do_not)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	for (int i = 0; i < 50000; i++)
		assert_int_equal(k2hft_writer_write(writer, "0123456789", 10), 0);
	take(sender, &taken);
	assert_int_equal(taken.byte_count, 550000);
	assert_int_equal(taken.records, 50000);
	assert_true(taken.chunks < 30);
	assert_int_equal(writer->open_bytes, K2I_OPEN_BYTES_MAX);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
		take(sender, &taken);
	}
	assert_int_equal(writer->open_bytes, K2I_OPEN_BYTES_FIRST);
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

TEST(closing_a_writer_sends_what_it_holds)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	assert_int_equal(k2hft_writer_write(writer, "one", 3), 0);
	assert_int_equal(k2hft_writer_lines(writer, "two\nthr", 7, NULL), 0);
	assert_int_equal(k2hft_writer_lines(writer, "ee\nfour", 7, NULL), 0);
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_taken(&taken, "one\ntwo\nthree\nfour");
	assert_int_equal(taken.records, 4);
	assert_false(taken.open);
	free(taken.bytes);
	k2i_sender_free(sender);
}

TEST(the_rest_of_a_text_waits_for_its_line_end)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	size_t bytes;

	assert_int_equal(k2hft_writer_lines(writer, "", 0, &bytes), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(k2hft_writer_lines(writer, "beg", 3, &bytes), 0);
	assert_int_equal(bytes, 3);
	take(sender, &taken);
	assert_int_equal(taken.byte_count, 0);
	/* A record of its own goes before it. */
	assert_int_equal(k2hft_writer_write(writer, "whole", 5), 0);
	assert_int_equal(k2hft_writer_lines(writer, "in\n", 3, &bytes), 0);
	take(sender, &taken);
	assert_taken(&taken, "whole\nbegin\n");
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

TEST(long_records_go_in_pieces)
{
	static const size_t sizes[] = {MEBI - 2, MEBI - 1, MEBI, MEBI + 1, 2 * MEBI - 1, 2 * MEBI, 5 * MEBI + 17};
	struct said said = {.text = "goes in pieces"};
	char *record = malloc(6 * MEBI);

	assert_non_null(record);
	k2hft_log_callback_set(said_count, &said, K2HFT_LOG_INFO);
	for (size_t i = 0; i < 6 * MEBI; i++)
		record[i] = (char)('a' + i % 23);
	for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
		struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
		struct k2hft_writer *writer = writer_make(sender);
		struct taken taken = {0};

		assert_int_equal(k2hft_writer_write(writer, "before", 6), 0);
		assert_int_equal(k2hft_writer_write(writer, record, sizes[at]), 0);
		assert_int_equal(k2hft_writer_write(writer, "behind", 6), 0);
		take(sender, &taken);
		assert_int_equal(taken.byte_count, sizes[at] + 15);
		assert_memory_equal(taken.bytes + 7, record, sizes[at]);
		assert_memory_equal(taken.bytes + 7 + sizes[at], "\nbehind\n", 8);
		assert_int_equal(taken.records, 3);
		assert_int_equal(taken.chunks, 3 + sizes[at] / MEBI);
		assert_counted(sender, 0, sizes[at] / MEBI);
		assert_int_equal(said.count, sizes[at] >= MEBI);
		said.count = 0;
		free(taken.bytes);
		k2hft_writer_close(writer);
		k2i_sender_free(sender);
	}
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	free(record);
}

static void assert_whole_characters(struct k2hft_sender *sender, const char *line, size_t bytes)
{
	struct k2hft_span span;
	size_t at = 0;

	(void)k2i_sender_seal(sender);
	while (k2hft_ring_read(sender->lanes[0]->ring, MEBI, 0, &span, NULL) > 0) {
		struct k2hft_chunk_view view;
		size_t offset = 0;

		for (; k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1;
		     at += view.payload_bytes) {
			assert_in_range(view.payload_bytes, 1, bytes - at);
			assert_memory_equal(view.payload, line + at, view.payload_bytes);
			assert_int_not_equal(k2i_utf8_kind((const char *)view.payload, view.payload_bytes),
					     K2I_UTF8_NOT);
		}
		assert_int_equal(k2hft_ring_release(sender->lanes[0]->ring, span.position + span.bytes), 0);
	}
	assert_int_equal(at, bytes);
}

/* A line of many characters, as a record, as text in writes of several lengths, and in place. */
TEST(pieces_are_whole_characters)
{
	static const size_t steps[] = {3 * MEBI, MEBI, MEBI - 1, 333333, MEBI / 2 + 1};
	char *line = malloc(3 * MEBI + 1);

	assert_non_null(line);
	for (size_t i = 0; i < MEBI; i++)
		memcpy(line + 3 * i, "\xe6\xbc\xa2", 3);
	line[3 * MEBI] = '\n';
	for (size_t way = 0; way < 2 + sizeof(steps) / sizeof(steps[0]); way++) {
		struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
		struct k2hft_writer *writer = writer_make(sender);
		size_t at = 0, bytes;
		void *memory;

		if (way == 0)
			assert_int_equal(k2hft_writer_write(writer, line, 3 * MEBI), 0);
		for (; way == 1 && at <= 3 * MEBI; at += bytes) {
			assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
			bytes = bytes < 3 * MEBI + 1 - at ? bytes : 3 * MEBI + 1 - at;
			memcpy(memory, line + at, bytes);
			assert_int_equal(k2hft_writer_commit(writer, bytes), 0);
		}
		for (; way > 1 && at <= 3 * MEBI; at += bytes) {
			bytes = steps[way - 2] < 3 * MEBI + 1 - at ? steps[way - 2] : 3 * MEBI + 1 - at;
			assert_int_equal(k2hft_writer_lines(writer, line + at, bytes, NULL), 0);
		}
		assert_whole_characters(sender, line, 3 * MEBI + 1);
		k2hft_writer_close(writer);
		k2i_sender_free(sender);
	}
	free(line);
}

TEST(full_fails_and_nothing_is_written)
{
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_FAIL);
	struct k2hft_writer *writer = writer_make(sender);
	struct said said = {.text = "a write is refused, and its writer told so: the ring is full"};
	struct taken taken = {0};
	char record[1000];
	uint64_t written = 0;
	size_t bytes = 1;
	char *large = calloc(1, K2HFT_RING_BYTES_MIN);

	assert_non_null(large);
	k2hft_log_callback_set(said_count, &said, K2HFT_LOG_WARNING);
	memset(record, 'r', sizeof(record) - 1);
	record[sizeof(record) - 1] = '\n';
	while (k2hft_writer_write(writer, record, sizeof(record) - 1) == 0)
		assert_true(++written < 66);
	assert_int_equal(k2hft_writer_write(writer, record, sizeof(record) - 1), -EAGAIN);
	assert_int_equal(k2hft_writer_lines(writer, record, sizeof(record), &bytes), -EAGAIN);
	assert_int_equal(bytes, 0);
	assert_true(written > 50);
	assert_int_equal(k2hft_writer_write(writer, large, 20000), -EAGAIN);
	assert_int_equal(k2hft_writer_write(writer, large, K2HFT_RING_BYTES_MIN), -EMSGSIZE);
	assert_counted(sender, 5, 0);
	assert_int_equal(said.count, 1);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	take(sender, &taken);
	assert_int_equal(taken.byte_count, written * 1000);
	assert_int_equal(taken.records, written);
	assert_int_equal(k2hft_writer_write(writer, record, sizeof(record) - 1), 0);
	free(large);
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

TEST(full_drops_and_counts)
{
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_DROP);
	struct k2hft_writer *writer = writer_make(sender);
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	struct taken taken = {0};
	char record[1000], *large = malloc(5 * 20000);

	assert_non_null(large);
	memset(record, 'r', sizeof(record) - 1);
	record[sizeof(record) - 1] = '\n';
	memset(large, 'l', 5 * 20000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(k2hft_writer_write(writer, record, sizeof(record) - 1), 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.written_records + stats.dropped_records, 100);
	assert_true(stats.dropped_records > 30);
	assert_int_equal(stats.unacked_records, stats.written_records);
	/* A line in pieces of which none finds room is one record, its rest is passed over. */
	for (int i = 0; i < 5; i++)
		assert_int_equal(k2hft_writer_lines(writer, large, 20000, NULL), 0);
	assert_int_equal(k2hft_writer_lines(writer, "\n", 1, NULL), 0);
	assert_int_equal(k2hft_writer_lines(writer, record, sizeof(record), NULL), 0);
	take(sender, &taken);
	assert_int_equal(taken.records, stats.written_records);
	assert_int_equal(k2hft_writer_lines(writer, "last\n", 5, NULL), 0);
	taken.byte_count = 0;
	take(sender, &taken);
	assert_taken(&taken, "last\n");
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.written_records + stats.dropped_records, 103);
	free(large);
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

struct blocked {
	struct k2hft_writer *writer;
	atomic_int started;
	int status;
};

static void *write_blocked(void *argument)
{
	struct blocked *blocked = argument;
	char record[2000];

	memset(record, 'x', sizeof(record));
	atomic_store(&blocked->started, 1);
	do
		blocked->status = k2hft_writer_write(blocked->writer, record, sizeof(record));
	while (blocked->status == 0 && atomic_load(&blocked->started) < 2);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
}

TEST(a_full_ring_blocks_and_a_signal_ends_the_wait)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_BLOCK);
	struct blocked blocked = {.writer = writer_make(sender)};
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	struct taken taken = {0};
	struct timespec pause = {.tv_nsec = 1000000};
	pthread_t thread;
	uint64_t committed;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_blocked, &blocked), 0);
	/* The ring is full when nothing more is committed. */
	do {
		committed = stats.tail;
		(void)nanosleep(&pause, NULL);
		assert_int_equal(k2hft_ring_stats(sender->lanes[0]->ring, &stats), 0);
	} while (stats.tail < 60000 || committed != stats.tail);
	/* A flush does not wait for a call that waits itself. */
	assert_int_equal(k2i_sender_sealed_wait(sender, k2i_sender_seal(sender), K2I_DEADLINE_NONE), 0);
	take(sender, &taken);
	do {
		committed = stats.tail;
		(void)nanosleep(&pause, NULL);
		assert_int_equal(k2hft_ring_stats(sender->lanes[0]->ring, &stats), 0);
	} while (stats.tail < 120000 || committed != stats.tail);
	while (pthread_kill(thread, SIGUSR1) == 0 && pthread_tryjoin_np(thread, NULL) == EBUSY)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(blocked.status, -EINTR);
	take(sender, &taken);
	assert_int_equal(taken.byte_count % 2001, 0);
	assert_int_equal(taken.byte_count / 2001, taken.records);
	free(taken.bytes);
	k2hft_writer_close(blocked.writer);
	k2i_sender_free(sender);
}

TEST(a_block_is_a_record)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer;
	struct taken taken = {0};
	uint8_t *block = calloc(3, MEBI);

	assert_non_null(block);
	assert_int_equal(k2hft_writer_open_binary(sender, "bin", &writer), 0);
	assert_int_equal(k2hft_writer_write(writer, "a\nb", 3), 0);
	assert_int_equal(k2hft_writer_write(writer, "", 0), -EINVAL);
	assert_int_equal(k2hft_writer_lines(writer, "a\n", 2, NULL), -EINVAL);
	take_committed(sender, &taken);
	assert_taken(&taken, "a\nb");
	assert_int_equal(taken.records, 1);
	assert_int_equal(k2hft_writer_write(writer, block, 3 * MEBI), 0);
	take_committed(sender, &taken);
	assert_int_equal(taken.records, 2);
	assert_int_equal(taken.chunks, 4);
	assert_int_equal(taken.byte_count, 3 * MEBI + 3);
	free(taken.bytes);
	free(block);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

/* Lines of very different lengths; every byte value. */
static void text_make(uint8_t *text, size_t bytes, uint64_t *random)
{
	uint64_t mean = UINT64_C(1) << (random_next(random) % 20);

	for (size_t at = 0; at < bytes; at++) {
		text[at] = (uint8_t)random_next(random);
		if (text[at] == '\n')
			text[at] = 'n';
		if (random_next(random) % mean == 0)
			text[at] = '\n';
	}
}

/* Hands over the next part of a text, one way or the other. Returns how much was taken. */
static size_t part_write(struct k2hft_writer *writer, const uint8_t *text, size_t bytes, bool reserve)
{
	size_t taken = 0;
	void *memory;

	if (!reserve) {
		(void)k2hft_writer_lines(writer, text, bytes, &taken);
		return taken;
	}
	if (k2hft_writer_reserve(writer, &memory, &taken))
		return 0;
	if (taken > bytes)
		taken = bytes;
	memcpy(memory, text, taken);
	assert_int_equal(k2hft_writer_commit(writer, taken), 0);
	return taken;
}

TEST(any_text_in_any_parts_comes_out_as_it_was)
{
	static const uint64_t ring_sizes[] = {K2HFT_RING_BYTES_MIN, 1 << 20, 8 << 20};
	uint8_t *text = malloc(4 * MEBI);
	uint64_t random = 7;

	assert_non_null(text);
	for (int round = 0; round < 24; round++) {
		struct k2hft_sender *sender = sender_make(ring_sizes[round % 3], K2HFT_FULL_FAIL);
		struct k2hft_writer *writer = writer_make(sender);
		size_t bytes = 1 + (size_t)(random_next(&random) % (round % 3 ? 3 * MEBI : 300000)), at = 0;
		uint64_t part_bits = 1 + random_next(&random) % 21;
		struct taken taken = {0};
		uint64_t lines;

		text_make(text, bytes, &random);
		lines = k2i_line_ends_count(text, bytes);
		while (at < bytes) {
			size_t part = 1 + (size_t)(random_next(&random) % (UINT64_C(1) << part_bits));

			at += part_write(writer, text + at, part < bytes - at ? part : bytes - at,
					 random_next(&random) % 2);
			if (random_next(&random) % 4 == 0)
				take(sender, &taken);
			else
				take_committed(sender, &taken);
		}
		k2hft_writer_close(writer);
		take_committed(sender, &taken);
		assert_int_equal(taken.byte_count, bytes);
		assert_memory_equal(taken.bytes, text, bytes);
		assert_int_equal(taken.records, lines + (text[bytes - 1] != '\n'));
		assert_false(taken.open);
		free(taken.bytes);
		k2i_sender_free(sender);
	}
	free(text);
}

#define RACE_WRITERS 4

struct race {
	struct k2hft_sender *sender;
	unsigned number;
	uint64_t records;
};

static void *race_write(void *argument)
{
	struct race *race = argument;
	struct k2hft_writer *writer;
	char record[32];

	if (k2hft_writer_open(race->sender, "race", &writer))
		return "open";
	for (uint64_t i = 0; i < race->records; i++) {
		/* Up to 20 bytes: short ones, which are written their own way, among others. */
		int bytes = snprintf(record, sizeof(record), "%u %0*llu", race->number, (int)(i % 18) + 1,
				     (unsigned long long)i);

		if (k2hft_writer_write(writer, record, (size_t)bytes))
			return "write";
	}
	k2hft_writer_close(writer);
	return NULL;
}

/* Each writer's records must come in its order, each once. */
static void race_check(struct taken *taken, uint64_t *next)
{
	const char *at = taken->byte_count ? (const char *)taken->bytes : "", *end = at + taken->byte_count;

	while (at < end) {
		char *behind;
		unsigned long number = strtoul(at, &behind, 10);
		unsigned long long sequence = strtoull(behind, &behind, 10);

		assert_true(number < RACE_WRITERS);
		assert_int_equal(sequence, next[number]++);
		assert_int_equal(*behind, '\n');
		at = behind + 1;
	}
	taken->byte_count = 0;
}

TEST(sealing_loses_nothing_while_writers_write)
{
	struct k2hft_sender *sender = sender_make(256 * 1024, K2HFT_FULL_BLOCK);
	struct race races[RACE_WRITERS];
	pthread_t threads[RACE_WRITERS];
	uint64_t next[RACE_WRITERS] = {0}, seals = 0;
	unsigned running = RACE_WRITERS;
	struct taken taken = {0};

	for (unsigned i = 0; i < RACE_WRITERS; i++) {
		races[i] = (struct race){.sender = sender, .number = i, .records = 100000};
		assert_int_equal(pthread_create(&threads[i], NULL, race_write, &races[i]), 0);
	}
	while (running) {
		void *failed = NULL;

		take(sender, &taken);
		race_check(&taken, next);
		seals++;
		if (pthread_tryjoin_np(threads[running - 1], &failed) == 0) {
			assert_null(failed);
			running--;
		}
	}
	take(sender, &taken);
	race_check(&taken, next);
	for (unsigned i = 0; i < RACE_WRITERS; i++)
		assert_int_equal(next[i], 100000);
	assert_true(seals > 10);
	free(taken.bytes);
	k2i_sender_free(sender);
}

TEST(an_idle_writer_does_not_hold_a_record_back)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	struct pollfd knock = {.fd = k2hft_ring_wake_descriptor(sender->lanes[0]->ring), .events = POLLIN};

	/* As the client does before it waits: the writer must knock after that. */
	assert_int_equal(k2hft_ring_sleep(sender->lanes[0]->ring), 1);
	(void)k2i_sender_seal(sender);
	assert_int_equal(k2hft_writer_write(writer, "now", 3), 0);
	assert_int_equal(poll(&knock, 1, 10000), 1);
	k2hft_ring_awake(sender->lanes[0]->ring);
	take(sender, &taken);
	assert_taken(&taken, "now\n");
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}
