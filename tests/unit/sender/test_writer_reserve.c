/* SPDX-License-Identifier: MIT */
/* Room in the ring that a program fills in place. */
#include <errno.h>

#include "unit.h"
#include "ring/ring.h"
#include "sender/writer.h"
#include "writer_help.h"

static bool memory_short;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
	return memory_short ? NULL : __real_realloc(memory, bytes);
}

static void *room_reserve(struct k2hft_writer *writer, const char *text)
{
	void *memory;
	size_t bytes;

	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
	assert_true(bytes >= strlen(text));
	return memcpy(memory, text, strlen(text));
}

static void text_commit(struct k2hft_writer *writer, const char *text)
{
	(void)room_reserve(writer, text);
	assert_int_equal(k2hft_writer_commit(writer, strlen(text)), 0);
}

TEST(lines_are_taken_and_the_rest_waits)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	text_commit(writer, "one\ntwo\nthr");
	take_committed(sender, &taken);
	assert_taken(&taken, "one\ntwo\n");
	assert_int_equal(taken.records, 2);
	text_commit(writer, "ee\nfo");
	assert_int_equal(k2hft_writer_lines(writer, "ur\nfi", 5, NULL), 0);
	assert_int_equal(k2hft_writer_lines_end(writer), 0);
	assert_int_equal(k2hft_writer_lines_end(writer), 0);
	take(sender, &taken);
	assert_taken(&taken, "one\ntwo\nthree\nfour\nfi");
	assert_int_equal(taken.records, 5);
	k2hft_writer_close(writer);
	take(sender, &taken);
	assert_int_equal(taken.records, 5);
	free(taken.bytes);
	k2i_sender_free(sender);
}

TEST(a_block_is_a_record)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer;
	struct taken taken = {0};

	assert_int_equal(k2hft_writer_open_binary(sender, "bin", &writer), 0);
	text_commit(writer, "a\nb");
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_taken(&taken, "a\nb");
	assert_int_equal(taken.records, 1);
	free(taken.bytes);
	k2i_sender_free(sender);
}

TEST(nothing_else_comes_between)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	void *memory;
	size_t bytes;

	assert_int_equal(k2hft_writer_commit(writer, 0), -EINVAL);
	assert_int_equal(k2hft_writer_lines(writer, "wai", 3, NULL), 0);
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), -EBUSY);
	assert_int_equal(k2hft_writer_write(writer, "short one", 9), -EBUSY);
	assert_int_equal(k2hft_writer_write(writer, "", 0), -EBUSY);
	assert_int_equal(k2hft_writer_lines(writer, "ts\n", 3, NULL), -EBUSY);
	assert_int_equal(k2hft_writer_lines_end(writer), -EBUSY);
	assert_int_equal(k2hft_writer_commit(writer, bytes + 1), -EINVAL);
	assert_int_equal(k2hft_writer_commit(writer, 0), 0);
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_taken(&taken, "wai");
	free(taken.bytes);
	k2i_sender_free(sender);
}

/* Nothing is there yet that could be dropped. A waiting part is, and the rest of its line with it. */
TEST(a_full_ring_is_told_or_drops)
{
	static const uint32_t full[] = {K2HFT_FULL_FAIL, K2HFT_FULL_DROP};

	for (size_t way = 0; way < 2; way++) {
		struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, full[way]);
		struct k2hft_writer *writer = writer_make(sender);
		struct k2hft_sender_stats stats = {.size = sizeof(stats)};
		struct taken taken = {0};
		void *memory;
		size_t bytes;

		assert_int_equal(k2hft_writer_lines(writer, "be", 2, NULL), 0);
		pieces_fill(writer);
		assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), -EAGAIN);
		assert_int_equal(k2hft_writer_lines_end(writer), full[way] == K2HFT_FULL_FAIL ? -EAGAIN : 0);
		assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
		assert_int_equal(stats.dropped_records, way);
		while (k2hft_ring_read(sender->lanes[0]->ring, MEBI, 0, &(struct k2hft_span){0}, NULL) > 0)
			continue;
		assert_int_equal(
			k2hft_ring_release(sender->lanes[0]->ring, k2i_ring_stats(sender->lanes[0]->ring).read), 0);
		text_commit(writer, "gin");
		text_commit(writer, " and end\nnext\n");
		take_committed(sender, &taken);
		assert_taken(&taken, way ? "next\n" : "begin and end\nnext\n");
		free(taken.bytes);
		k2hft_writer_close(writer);
		k2i_sender_free(sender);
	}
}

TEST(without_memory_all_stays_reserved)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	int status;

	(void)room_reserve(writer, "line\nrest");
	memory_short = true;
	status = k2hft_writer_commit(writer, 9);
	memory_short = false;
	assert_int_equal(status, -ENOMEM);
	assert_int_equal(k2hft_writer_commit(writer, 9), 0);
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_taken(&taken, "line\nrest");
	free(taken.bytes);
	k2i_sender_free(sender);
}
