/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "ledger_folder.h"

#define INODE 100u

/* A ring that waits for the disk, and a file; with each 8 of its position 10 bytes. */
static void deferred_commit(uint64_t position)
{
	struct k2i_ledger_file file = {.birth = 1, .inode = INODE, .length = position / 8 * 10};
	struct k2i_ledger_ring ring = ring_make("one", position);

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
}

/* Returns whether a sync is to be waited for. */
static int file_opened(uint64_t length, bool deferred)
{
	const struct k2i_ledger_file file = {
		.birth = 1, .inode = INODE, .length = length, .path = "a", .deferred = deferred};

	return k2i_ledger_file_opened(ledger, &file);
}

static void deferred_open(uint64_t length)
{
	assert_int_equal(file_opened(length, true), 1);
}

static void mark(void)
{
	uint64_t number;

	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	assert_int_equal(number, k2i_ledger_number(ledger));
}

static void checkpoint(void)
{
	mark();
	assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
}

static void open_whole(const uint8_t boot[16])
{
	open_after(boot);
	assert_false(report.damaged || report.clean);
}

static void expect_ring(const char *name, uint64_t position, uint64_t synced, uint32_t flags)
{
	struct k2i_ledger_ring ring = ring_make(name, 0);

	assert_true(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
	assert_int_equal(ring.position, position);
	assert_int_equal(ring.synced, synced);
	assert_int_equal(ring.flags, flags);
}

static void expect_one_file(uint64_t length, bool deferred)
{
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, length);
	assert_int_equal(found.last.deferred, deferred);
}

LEDGER_TEST(test_goes_back_to_checkpoint)
{
	deferred_open(0);
	deferred_commit(8);
	deferred_commit(16);
	checkpoint();
	deferred_commit(24);
	open_whole(boot_other);
	expect_ring("one", 16, 16, K2I_LEDGER_DEFERRED);
	expect_one_file(20, true);
	/* And again, whatever went down. */
	open_whole(boot_here);
	expect_ring("one", 24, 16, K2I_LEDGER_DEFERRED);
	expect_one_file(30, true);
}

LEDGER_TEST(test_without_checkpoint_nothing_is_left)
{
	commit("two", 8);
	deferred_open(7);
	deferred_commit(8);
	open_whole(boot_other);
	expect_ring("one", 0, 0, K2I_LEDGER_DEFERRED);
	/* A ring that does not wait was acknowledged more than that. */
	expect_ring("two", 8, 0, K2I_LEDGER_UNCERTAIN);
	expect_one_file(7, true);
}

/* A commit while the disk is waited for is not in the checkpoint, also if the log is written anew meanwhile. */
LEDGER_TEST(test_commits_go_on_during_a_sync)
{
	unsigned anew;

	deferred_open(0);
	for (anew = 0; anew < 2; anew++) {
		deferred_commit(anew * 16 + 8);
		mark();
		deferred_commit(anew * 16 + 16);
		if (anew) {
			assert_int_equal(unlink(folder.log), 0);
			assert_int_equal(k2i_ledger_check(ledger), 1);
		}
		assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
		expect_ring("one", anew * 16 + 16, anew * 16 + 8, K2I_LEDGER_DEFERRED);
		open_whole(boot_here);
		expect_ring("one", anew * 16 + 16, anew * 16 + 8, K2I_LEDGER_DEFERRED);
		expect_one_file(anew * 20 + 20, true);
		ledger_begin();
		deferred_open(anew * 20 + 20);
	}
	open_whole(boot_other);
	expect_ring("one", 24, 24, K2I_LEDGER_DEFERRED);
	expect_one_file(30, true);
}

/* Nothing that a process wrote is on the disk only because another has its ledger now. */
LEDGER_TEST(test_checkpoint_outlives_a_process)
{
	deferred_open(0);
	deferred_commit(8);
	checkpoint();
	deferred_commit(16);
	open_whole(boot_here);
	expect_one_file(20, true);
	ledger_begin();
	expect_ring("one", 16, 8, K2I_LEDGER_DEFERRED);
	open_whole(boot_other);
	expect_ring("one", 8, 8, K2I_LEDGER_DEFERRED);
	expect_one_file(10, true);
	/* It was cut off. */
	ledger_begin();
	open_whole(boot_other);
	assert_int_equal(found.count, 0);
}

/* A sync is for all that is not on the disk, also of processes that died before there was one. */
LEDGER_TEST(test_checkpoint_of_earlier_processes)
{
	unsigned deaths;

	deferred_open(0);
	deferred_commit(8);
	for (deaths = 0; deaths < 2; deaths++) {
		open_whole(boot_here);
		ledger_begin();
	}
	checkpoint();
	open_whole(boot_other);
	expect_ring("one", 8, 8, K2I_LEDGER_DEFERRED);
	assert_int_equal(found.count, 0);
}

LEDGER_TEST(test_closed_file_waits_for_checkpoint)
{
	deferred_open(0);
	deferred_commit(8);
	k2i_ledger_file_closed(ledger, 1, INODE);
	/* It goes on where it was: the checkpoint is the old one. */
	deferred_open(10);
	k2i_ledger_file_closed(ledger, 1, INODE);
	open_whole(boot_other);
	expect_one_file(0, true);
	ledger_begin();
	deferred_open(0);
	deferred_commit(8);
	k2i_ledger_file_closed(ledger, 1, INODE);
	checkpoint();
	open_whole(boot_other);
	assert_int_equal(found.count, 0);
}

/* Bytes that somebody else put there, or took away, are not ours to cut off. */
LEDGER_TEST(test_changed_file_has_its_checkpoint_there)
{
	deferred_open(0);
	deferred_commit(8);
	deferred_open(500);
	open_whole(boot_here);
	expect_one_file(500, true);
	open_whole(boot_other);
	expect_one_file(500, true);
}

/* Records that were acknowledged at once are in the file, which has to be on the disk before. */
LEDGER_TEST(test_file_of_others_stays)
{
	assert_int_equal(file_opened(0, false), 0);
	k2i_ledger_file_closed(ledger, 1, INODE);
	deferred_open(0);
	deferred_commit(8);
	assert_int_equal(file_opened(10, false), 1);
	deferred_commit(16);
	open_whole(boot_other);
	expect_ring("one", 0, 0, K2I_LEDGER_DEFERRED);
	expect_one_file(20, false);
}

/* Nor is what is there when they go and only those come who wait. */
LEDGER_TEST(test_file_that_others_left_stays)
{
	assert_int_equal(file_opened(10, false), 0);
	deferred_commit(16);
	deferred_open(20);
	open_whole(boot_other);
	expect_one_file(20, true);
}

/* Data that the disk refused is not in the next checkpoint either, before it was committed again. */
LEDGER_TEST(test_what_the_disk_refused_is_in_no_checkpoint)
{
	deferred_open(0);
	deferred_commit(8);
	checkpoint();
	deferred_commit(16);
	mark();
	/* Neither is what came after it: its file can have been the one. */
	deferred_commit(24);
	k2i_ledger_doubt(ledger);
	checkpoint();
	expect_ring("one", 24, 8, K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN);
	open_whole(boot_here);
	expect_ring("one", 24, 8, K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN);
	ledger_begin();
	deferred_open(30);
	deferred_commit(32);
	checkpoint();
	expect_ring("one", 32, 32, K2I_LEDGER_DEFERRED);
}

/* A file that was closed in the sync that failed is in the next, so that a power cut takes nothing of it later. */
LEDGER_TEST(test_doubt_of_a_closed_file)
{
	deferred_open(0);
	deferred_commit(8);
	mark();
	k2i_ledger_file_closed(ledger, 1, INODE);
	k2i_ledger_doubt(ledger);
	open_whole(boot_other);
	expect_one_file(0, true);
	/* Where it goes back to the disk has all of it: nothing is in doubt. */
	expect_ring("one", 0, 0, K2I_LEDGER_DEFERRED);
	open_whole(boot_here);
	ledger_begin();
	checkpoint();
	open_whole(boot_other);
	assert_int_equal(found.count, 0);
}

/* Any part of a sync is under way; the data of its ring stays. */
LEDGER_TEST(test_forgotten_in_a_sync)
{
	static const char *const names[] = {"a", "one", "c"};
	struct k2i_ledger_ring ring;
	unsigned forgotten;

	deferred_open(0);
	for (forgotten = 0; forgotten < 6; forgotten++) {
		commit("a", 8);
		deferred_commit(8);
		commit("c", 8);
		ring = ring_make(names[forgotten % 3], 0);
		if (forgotten < 3)
			k2i_ledger_forget(ledger, ring.uuid);
		mark();
		k2i_ledger_forget(ledger, ring.uuid);
		assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
		assert_false(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
		assert_int_equal(k2i_ledger_ring_count(ledger), 2);
		k2i_ledger_forget(ledger, ring.uuid);
	}
	expect_ring("one", 8, 8, K2I_LEDGER_DEFERRED);
	deferred_commit(16);
	open_whole(boot_other);
	assert_false(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
	expect_ring("one", 8, 8, K2I_LEDGER_DEFERRED);
	expect_one_file(10, true);
}

/* Three checkpoints, at 8, 16 and 24, of which the machine's end left what it did. */
static size_t three_checkpoints(uint8_t **bytes)
{
	uint64_t position;

	deferred_open(0);
	for (position = 8; position <= 24; position += 8) {
		deferred_commit(position);
		checkpoint();
	}
	ledger_close(false);
	return log_read(bytes);
}

/*
 * With any of its bytes wrong after a restart of the machine: what was proven to be on the disk was damaged by something
 * else, so that nothing may be cut off; what was not can be as a power cut left it.
 */
LEDGER_TEST(test_damage_and_power_cuts)
{
	struct k2i_ledger_ring ring = ring_make("one", 0);
	size_t byte_count, at, damaged = 0, torn = 0;
	uint8_t *bytes;

	byte_count = three_checkpoints(&bytes);
	for (at = K2I_LEDGER_HEADER_BYTES; at < 640; at++) {
		bytes[at] ^= 1;
		log_write(bytes, byte_count);
		bytes[at] ^= 1;
		open_after(boot_other);
		assert_true(report.damaged || report.torn);
		damaged += report.damaged;
		torn += report.torn;
		if (report.damaged) {
			assert_true(!k2i_ledger_find(ledger, ring.uuid, 0, &ring) || ring.flags & K2I_LEDGER_UNCERTAIN);
		} else {
			/* The last but one was on the disk before the last was written. */
			assert_true(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
			assert_in_range(ring.position, 16, 24);
			expect_one_file(ring.position / 8 * 10, true);
		}
		ledger_close(false);
	}
	assert_true(damaged > 100 && torn > 100);
	free(bytes);
}

/* Each sink has a row of a ring, and its own marks; the first one's are as they were before there were sinks. */
LEDGER_TEST(test_a_row_for_each_sink)
{
	const struct k2i_ledger_file mark = {1, 100, 5, 0, "a", false, 7, 0, 0};
	struct k2i_ledger_ring one = ring_make("ring", 100), other = ring_make("ring", 50), found_row;
	static struct k2i_ledger_record record = {.type = K2I_LEDGER_COMMIT};
	uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX];
	unsigned round;

	one.flags = K2I_LEDGER_DEFERRED;
	record.ring = one;
	assert_int_equal(k2i_ledger_record_encode(&record, bytes), 64);
	assert_int_equal(bytes[48], K2I_LEDGER_DEFERRED);
	assert_int_equal(bytes[49] | bytes[50] | bytes[51], 0);
	other.sink = 7;
	assert_int_equal(k2i_ledger_file_opened(ledger, &mark), 0);
	assert_int_equal(k2i_ledger_commit(ledger, &one, NULL, 0), 0);
	assert_int_equal(k2i_ledger_commit(ledger, &other, &mark, 1), 0);
	/* As it was written, and as it is written anew. */
	for (round = 0; round < 2; round++) {
		open_after(boot_here);
		assert_true(k2i_ledger_find(ledger, one.uuid, 0, &found_row));
		assert_int_equal(found_row.position, 100);
		assert_int_equal(found_row.flags, K2I_LEDGER_DEFERRED);
		assert_true(k2i_ledger_find(ledger, one.uuid, 7, &found_row));
		assert_int_equal(found_row.position, 50);
		assert_int_equal(found_row.flags, 0);
		assert_false(k2i_ledger_find(ledger, one.uuid, 1, &found_row));
		if (!round) {
			assert_int_equal(found.count, 1);
			assert_int_equal(found.last.sink, 7);
		}
		ledger_begin();
	}
	k2i_ledger_forget(ledger, one.uuid);
	open_begun();
	assert_int_equal(k2i_ledger_ring_count(ledger), 0);
}
