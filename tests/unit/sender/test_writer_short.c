/* SPDX-License-Identifier: MIT */
/* Short records, which writers write a way of their own. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <k2hft/sender.h>

#include "unit.h"
#include "sender/sender.h"
#include "sender/writer.h"
#include "writer_help.h"

/* Each length at both ends of memory that can be read, and what is behind the record in the ring stays as it was. */
TEST(a_record_touches_nothing_but_its_place)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), rest_bytes = 64;
	uint8_t *page = mmap(NULL, 3 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), rest[64], *first,
		*end;
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);

	assert_ptr_not_equal(page, MAP_FAILED);
	first = page + page_bytes;
	assert_int_equal(mprotect(first, page_bytes, PROT_READ | PROT_WRITE), 0);
	memset(first, 'a', page_bytes);
	memset(rest, 0xee, sizeof(rest));
	for (size_t bytes = 0; bytes <= 530; bytes++) {
		const uint8_t *const records[] = {first, first + page_bytes - bytes};

		for (size_t at = 0; at < 2; at++) {
			(void)k2i_sender_seal(sender);
			writer->open_bytes = 1024;
			assert_int_equal(k2hft_writer_write(writer, "opens", 5), 0);
			assert_true(k2i_writer_room(writer) >= bytes + 1 + rest_bytes);
			end = writer->begin + k2i_writer_filled(writer);
			memset(end, 0xee, bytes + 1 + rest_bytes);
			assert_int_equal(k2hft_writer_write(writer, records[at], bytes), 0);
			assert_memory_equal(end, records[at], bytes);
			assert_int_equal(end[bytes], '\n');
			assert_memory_equal(end + bytes + 1, rest, rest_bytes);
		}
	}
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
	assert_int_equal(munmap(page, 3 * page_bytes), 0);
}

/* To the last byte of the open chunk, and not beyond. */
TEST(records_of_each_length_fill_a_chunk)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	uint64_t records = 0, all_bytes = 0;
	const char text[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (size_t bytes = 0; bytes < sizeof(text); bytes++) {
		struct taken taken = {0};
		size_t count = K2I_OPEN_BYTES_FIRST / (bytes + 1);

		writer->open_bytes = K2I_OPEN_BYTES_FIRST;
		for (size_t at = 0; at < count; at++)
			assert_int_equal(k2hft_writer_write(writer, text, bytes), 0);
		take_committed(sender, &taken);
		assert_int_equal(taken.chunks, 0);
		assert_true(k2i_writer_room(writer) < bytes + 1);
		assert_int_equal(k2hft_writer_write(writer, text, bytes), 0);
		take_committed(sender, &taken);
		assert_int_equal(taken.byte_count, count * (bytes + 1));
		assert_int_equal(taken.records, count);
		take(sender, &taken);
		records += count + 1;
		all_bytes += (count + 1) * (bytes + 1);
		free(taken.bytes);
	}
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.written_records, records);
	assert_int_equal(stats.written_bytes, all_bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

/*
 * A drain while no call is under way gets the records that were written until then, and the next call begins a chunk.
 */
TEST(a_call_that_finds_a_ticket_commits_first)
{
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	assert_int_equal(k2hft_writer_write(writer, "before it", 9), 0);
	atomic_store(&writer->seal_ticket, 1);
	assert_int_equal(k2hft_writer_write(writer, "behind it", 9), 0);
	assert_int_equal(atomic_load(&writer->seal_ticket), 0);
	assert_int_equal(atomic_load(&writer->busy), 0);
	take_committed(sender, &taken);
	assert_taken(&taken, "before it\n");
	take(sender, &taken);
	assert_taken(&taken, "before it\nbehind it\n");
	assert_int_equal(taken.chunks, 2);
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
}

/* The record's memory, from which the writer reads in the middle of its call. */
static struct {
	struct k2hft_sender *sender;
	uint8_t *page;
	size_t page_bytes;
	uint64_t ticket;
} middle;

static void seal_in_the_middle(int number)
{
	(void)number;
	middle.ticket = k2i_sender_seal(middle.sender);
	if (mprotect(middle.page, middle.page_bytes, PROT_READ))
		_exit(1);
}

/* A drain in the middle of a call gets its records when it ends, without another call. */
TEST(a_call_that_was_asked_commits_at_its_end)
{
	struct sigaction action = {.sa_handler = seal_in_the_middle, .sa_flags = (int)SA_RESETHAND}, before;
	struct k2hft_sender *sender = sender_make(0, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct taken taken = {0};

	middle.sender = sender;
	middle.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	middle.page = mmap(NULL, middle.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(middle.page, MAP_FAILED);
	memcpy(middle.page, "asked for", 9);
	assert_int_equal(k2hft_writer_write(writer, "before it", 9), 0);
	assert_int_equal(mprotect(middle.page, middle.page_bytes, PROT_NONE), 0);
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(k2hft_writer_write(writer, middle.page, 9), 0);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_not_equal(middle.ticket, 0);
	assert_int_equal(k2i_sender_sealed_wait(sender, middle.ticket, 1), 0);
	take_committed(sender, &taken);
	assert_taken(&taken, "before it\nasked for\n");
	free(taken.bytes);
	k2hft_writer_close(writer);
	k2i_sender_free(sender);
	assert_int_equal(munmap(middle.page, middle.page_bytes), 0);
}
