/* SPDX-License-Identifier: MIT */
/* Lines in pieces of which the ring has no room for the rest. */
#include <errno.h>

#include "unit.h"
#include "sender/writer.h"
#include "writer_help.h"

/* The rest of a line whose begin is out is dropped. */
static void break_line(struct k2hft_writer *writer, const char *large)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(k2hft_writer_lines(writer, large, K2HFT_RING_BYTES_MIN, NULL), 0);
	assert_int_equal(k2hft_writer_lines(writer, "rest\n", 5, NULL), 0);
	pieces_fill(writer);
}

/* A line's begin is out when the ring is full: it ends there, and what follows is a line of its own in each way. */
TEST(a_dropped_rest_ends_its_line)
{
	static const char *const followed[] = {"next\n", "next\n", "next", "", "next\n", ""};
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_DROP);
	char *large = malloc(K2HFT_RING_BYTES_MIN);

	assert_non_null(large);
	memset(large, 'l', K2HFT_RING_BYTES_MIN);
	for (size_t way = 0; way < sizeof(followed) / sizeof(followed[0]); way++) {
		struct k2hft_writer *writer = writer_make(sender);
		struct taken taken = {0};
		size_t text_bytes = strlen(followed[way]);

		break_line(writer, large);
		/* Closed before there is room again: whoever comes next ends it, or the sender in the end. */
		if (way >= 4) {
			k2hft_writer_close(writer);
			writer = NULL;
		}
		take_committed(sender, &taken);
		assert_int_equal(taken.open, 1);
		if (way == 4)
			writer = writer_make(sender);
		if (way == 0)
			assert_int_equal(k2hft_writer_write(writer, "next", 4), 0);
		else if (writer)
			assert_int_equal(k2hft_writer_lines(writer, followed[way], text_bytes, NULL), 0);
		k2hft_writer_close(writer);
		assert_int_equal(k2i_writers_end_lines(sender, NULL), way == 5);
		take_committed(sender, &taken);
		assert_int_equal(taken.open, 0);
		assert_true(taken.byte_count > text_bytes + 1);
		taken.byte_count -= text_bytes + 1;
		for (size_t at = 0; at < taken.byte_count; at++)
			assert_int_equal(taken.bytes[at], 'l');
		assert_int_equal(taken.bytes[taken.byte_count], '\n');
		assert_memory_equal(taken.bytes + taken.byte_count + 1, followed[way], text_bytes);
		free(taken.bytes);
	}
	free(large);
	k2i_sender_free(sender);
}

/* A last line that waits for its end finds no room when its writer is closed: nothing of it comes later, but a begin ends. */
TEST(what_close_drops_ends_its_line)
{
	static const uint32_t full[] = {K2HFT_FULL_DROP, K2HFT_FULL_FAIL, K2HFT_FULL_DROP};
	char *large = malloc(K2HFT_RING_BYTES_MIN);

	assert_non_null(large);
	memset(large, 'l', K2HFT_RING_BYTES_MIN);
	for (size_t way = 0; way < sizeof(full) / sizeof(full[0]); way++) {
		struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, full[way]);
		struct k2hft_writer *writer = writer_make(sender);
		struct k2hft_sender_stats stats = {.size = sizeof(stats)};
		struct taken taken = {0};

		/* In the last way the begin is that of a line before, whose rest was dropped by then. */
		if (way == 2)
			break_line(writer, large);
		assert_int_equal(k2hft_writer_lines(writer, large, way == 2 ? 100 : 20000, NULL), 0);
		pieces_fill(writer);
		k2hft_writer_close(writer);
		take_committed(sender, &taken);
		assert_int_equal(taken.open, 1);
		assert_true(k2i_writers_end_lines(sender, NULL));
		take_committed(sender, &taken);
		assert_int_equal(taken.open, 0);
		assert_ptr_equal(memchr(taken.bytes, '\n', taken.byte_count), taken.bytes + taken.byte_count - 1);
		assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
		assert_int_equal(stats.dropped_records, way == 2 ? 2 : 1);
		free(taken.bytes);
		k2i_sender_free(sender);
	}
	free(large);
}

/* Also by who takes memory of the ring to read into. */
TEST(a_claim_goes_behind_the_end_that_is_owed)
{
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_FAIL);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};
	char line[20000];
	void *memory;
	size_t bytes;

	memset(line, 'l', sizeof(line));
	assert_int_equal(k2hft_writer_lines(writer, line, sizeof(line), NULL), 0);
	pieces_fill(writer);
	k2hft_writer_close(writer);
	writer = writer_make(sender);
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), -EAGAIN);
	take_committed(sender, &taken);
	assert_int_equal(taken.open, 1);
	taken.byte_count = 0;
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
	memcpy(memory, "next\n", 5);
	assert_int_equal(k2hft_writer_commit(writer, 5), 0);
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_taken(&taken, "\nnext\n");
	free(taken.bytes);
	k2i_sender_free(sender);
}

/* A call that was refused in the middle of a line is not repeated: the line ends with what was taken. */
TEST(what_was_taken_is_a_line_that_ends)
{
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_FAIL);
	struct k2hft_writer *writer = writer_make(sender);
	static const char line[2 * K2HFT_RING_BYTES_MIN] = {'l'};
	struct taken taken = {0};
	size_t bytes;

	assert_int_equal(k2hft_writer_lines(writer, line, sizeof(line), &bytes), -EAGAIN);
	take_committed(sender, &taken);
	assert_int_equal(taken.open, 1);
	k2hft_writer_close(writer);
	take_committed(sender, &taken);
	assert_int_equal(taken.open, 0);
	assert_int_equal(taken.records, 1);
	assert_int_equal(taken.byte_count, bytes);
	assert_memory_equal(taken.bytes, line, bytes);
	free(taken.bytes);
	k2i_sender_free(sender);
}
