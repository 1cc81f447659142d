/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ledger_folder.h"

#define INODE 100u

/* One ring that waits for the disk, and a file; with each 8 of its position 10 bytes. */
static void deferred_commit(struct k2i_ledger *ledger, uint64_t position)
{
	struct k2i_ledger_file file = {.birth = 1, .inode = INODE, .length = position / 8 * 10};
	struct k2i_ledger_ring ring = ring_make("one", position);

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
}

static int file_opened(struct k2i_ledger *ledger, uint64_t length, bool deferred)
{
	const struct k2i_ledger_file file = {
		.birth = 1, .inode = INODE, .length = length, .path = "a", .deferred = deferred};

	return k2i_ledger_file_opened(ledger, &file);
}

static void checkpoint(struct k2i_ledger *ledger)
{
	uint64_t number;

	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	assert_int_equal(number, k2i_ledger_number(ledger));
	assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
}

/* After a power cut, or (`boot_here`) the death of the process. */
static struct k2i_ledger *open_after(const struct folder *folder, struct k2i_ledger *ledger, const uint8_t boot[16],
				     struct found_files *found)
{
	struct k2i_ledger_report report;

	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot, &ledger, &report), 0);
	assert_false(report.damaged || report.clean);
	memset(found, 0, sizeof(*found));
	k2i_ledger_files(ledger, file_take, found);
	return ledger;
}

static void expect_ring(struct k2i_ledger *ledger, const char *name, uint64_t position, uint64_t synced, uint32_t flags)
{
	struct k2i_ledger_ring ring = ring_make(name, 0);

	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring));
	assert_int_equal(ring.position, position);
	assert_int_equal(ring.synced, synced);
	assert_int_equal(ring.flags, flags);
}

static void expect_one_file(const struct found_files *found, uint64_t length, bool deferred)
{
	assert_int_equal(found->count, 1);
	assert_int_equal(found->last.length, length);
	assert_int_equal(found->last.deferred, deferred);
}

static void test_goes_back_to_checkpoint(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	deferred_commit(ledger, 16);
	checkpoint(ledger);
	deferred_commit(ledger, 24);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_ring(ledger, "one", 16, 16, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 20, true);
	/* And again, whatever went down. */
	ledger = open_after(*state, ledger, boot_here, &found);
	expect_ring(ledger, "one", 24, 16, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 30, true);
	k2i_ledger_close(ledger, false);
}

static void test_without_checkpoint_nothing_is_left(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	commit(ledger, "two", 8);
	assert_int_equal(file_opened(ledger, 7, true), 1);
	deferred_commit(ledger, 8);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_ring(ledger, "one", 0, 0, K2I_LEDGER_DEFERRED);
	/* Who does not wait was acknowledged more than that. */
	expect_ring(ledger, "two", 8, 0, K2I_LEDGER_UNCERTAIN);
	expect_one_file(&found, 7, true);
	k2i_ledger_close(ledger, false);
}

/* What is committed while the disk is waited for is not in the checkpoint, also if the log is written anew meanwhile. */
static void test_commits_go_on_during_a_sync(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct found_files found;
	uint64_t number;
	unsigned anew;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	for (anew = 0; anew < 2; anew++) {
		deferred_commit(ledger, anew * 16 + 8);
		assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
		deferred_commit(ledger, anew * 16 + 16);
		if (anew) {
			assert_int_equal(unlink(folder->log), 0);
			assert_int_equal(k2i_ledger_check(ledger), 1);
		}
		assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
		expect_ring(ledger, "one", anew * 16 + 16, anew * 16 + 8, K2I_LEDGER_DEFERRED);
		ledger = open_after(folder, ledger, boot_here, &found);
		expect_ring(ledger, "one", anew * 16 + 16, anew * 16 + 8, K2I_LEDGER_DEFERRED);
		expect_one_file(&found, anew * 20 + 20, true);
		assert_int_equal(k2i_ledger_begin(ledger), 0);
		assert_int_equal(file_opened(ledger, anew * 20 + 20, true), 1);
	}
	ledger = open_after(folder, ledger, boot_other, &found);
	expect_ring(ledger, "one", 24, 24, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 30, true);
	k2i_ledger_close(ledger, false);
}

/* Nothing that a process wrote is on the disk only because another has its ledger now. */
static void test_checkpoint_outlives_a_process(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	checkpoint(ledger);
	deferred_commit(ledger, 16);
	ledger = open_after(*state, ledger, boot_here, &found);
	expect_one_file(&found, 20, true);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	expect_ring(ledger, "one", 16, 8, K2I_LEDGER_DEFERRED);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_ring(ledger, "one", 8, 8, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 10, true);
	/* It was cut off. */
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	ledger = open_after(*state, ledger, boot_other, &found);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

/* A sync is for all that is not on the disk, also of processes that died before there was one. */
static void test_checkpoint_of_earlier_processes(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;
	unsigned deaths;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	for (deaths = 0; deaths < 2; deaths++) {
		ledger = open_after(*state, ledger, boot_here, &found);
		assert_int_equal(k2i_ledger_begin(ledger), 0);
	}
	checkpoint(ledger);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_ring(ledger, "one", 8, 8, K2I_LEDGER_DEFERRED);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

static void test_closed_file_waits_for_checkpoint(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	k2i_ledger_file_closed(ledger, 1, INODE);
	/* It goes on where it was: the checkpoint is the old one. */
	assert_int_equal(file_opened(ledger, 10, true), 1);
	k2i_ledger_file_closed(ledger, 1, INODE);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_one_file(&found, 0, true);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	k2i_ledger_file_closed(ledger, 1, INODE);
	checkpoint(ledger);
	ledger = open_after(*state, ledger, boot_other, &found);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

/* What somebody else put there, or took away, is not ours to cut off. */
static void test_changed_file_has_its_checkpoint_there(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	assert_int_equal(file_opened(ledger, 500, true), 1);
	ledger = open_after(*state, ledger, boot_here, &found);
	expect_one_file(&found, 500, true);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_one_file(&found, 500, true);
	k2i_ledger_close(ledger, false);
}

/* Whose records were acknowledged at once are in the file: that has to be on the disk before. */
static void test_file_of_others_stays(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 0, false), 0);
	k2i_ledger_file_closed(ledger, 1, INODE);
	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	assert_int_equal(file_opened(ledger, 10, false), 1);
	deferred_commit(ledger, 16);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_ring(ledger, "one", 0, 0, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 20, false);
	k2i_ledger_close(ledger, false);
}

/* Nor is what is there when they go and only those come who wait. */
static void test_file_that_others_left_stays(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;

	assert_int_equal(file_opened(ledger, 10, false), 0);
	deferred_commit(ledger, 16);
	assert_int_equal(file_opened(ledger, 20, true), 1);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_one_file(&found, 20, true);
	k2i_ledger_close(ledger, false);
}

/* What the disk refused is not in the next checkpoint either, before it was committed again. */
static void test_doubt(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;
	uint64_t number;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	checkpoint(ledger);
	deferred_commit(ledger, 16);
	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	/* Neither is what came after it: its file can have been the one. */
	deferred_commit(ledger, 24);
	k2i_ledger_doubt(ledger);
	checkpoint(ledger);
	expect_ring(ledger, "one", 24, 8, K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN);
	ledger = open_after(*state, ledger, boot_here, &found);
	expect_ring(ledger, "one", 24, 8, K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	assert_int_equal(file_opened(ledger, 30, true), 1);
	deferred_commit(ledger, 32);
	checkpoint(ledger);
	expect_ring(ledger, "one", 32, 32, K2I_LEDGER_DEFERRED);
	k2i_ledger_close(ledger, false);
}

/* A file that was closed in the sync that failed is in the next, so that a power cut takes nothing of it later. */
static void test_doubt_of_a_closed_file(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct found_files found;
	uint64_t number;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	deferred_commit(ledger, 8);
	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	k2i_ledger_file_closed(ledger, 1, INODE);
	k2i_ledger_doubt(ledger);
	ledger = open_after(*state, ledger, boot_other, &found);
	expect_one_file(&found, 0, true);
	/* Where it goes back to the disk has all of it: nothing is in doubt. */
	expect_ring(ledger, "one", 0, 0, K2I_LEDGER_DEFERRED);
	ledger = open_after(*state, ledger, boot_here, &found);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	checkpoint(ledger);
	ledger = open_after(*state, ledger, boot_other, &found);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

/* Whatever of a sync is under way; what its ring has written stays. */
static void test_forgotten_in_a_sync(void **state)
{
	static const char *const names[] = {"a", "one", "c"};
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct k2i_ledger_ring ring;
	struct found_files found;
	unsigned forgotten;
	uint64_t number;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	for (forgotten = 0; forgotten < 6; forgotten++) {
		commit(ledger, "a", 8);
		deferred_commit(ledger, 8);
		commit(ledger, "c", 8);
		ring = ring_make(names[forgotten % 3], 0);
		if (forgotten < 3)
			k2i_ledger_forget(ledger, ring.uuid);
		assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
		k2i_ledger_forget(ledger, ring.uuid);
		assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
		assert_false(k2i_ledger_find(ledger, ring.uuid, &ring));
		assert_int_equal(k2i_ledger_ring_count(ledger), 2);
		k2i_ledger_forget(ledger, ring.uuid);
	}
	expect_ring(ledger, "one", 8, 8, K2I_LEDGER_DEFERRED);
	deferred_commit(ledger, 16);
	ledger = open_after(*state, ledger, boot_other, &found);
	assert_false(k2i_ledger_find(ledger, ring.uuid, &ring));
	expect_ring(ledger, "one", 8, 8, K2I_LEDGER_DEFERRED);
	expect_one_file(&found, 10, true);
	k2i_ledger_close(ledger, false);
}

/* Three checkpoints, at 8, 16 and 24, of which the machine's end left what it did. */
static size_t three_checkpoints(const struct folder *folder, uint8_t **bytes)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	uint64_t position;

	assert_int_equal(file_opened(ledger, 0, true), 1);
	for (position = 8; position <= 24; position += 8) {
		deferred_commit(ledger, position);
		checkpoint(ledger);
	}
	k2i_ledger_close(ledger, false);
	return log_read(folder, bytes);
}

/*
 * With any of its bytes wrong after a restart of the machine: what was proven to be on the disk was damaged by something
 * else, so that nothing may be cut off; what was not can be as a power cut left it.
 */
static void test_damage_and_power_cuts(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_ring ring = ring_make("one", 0);
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger;
	struct found_files found;
	size_t byte_count, at, damaged = 0, torn = 0;
	uint8_t *bytes;

	byte_count = three_checkpoints(folder, &bytes);
	for (at = K2I_LEDGER_HEADER_BYTES; at < 512; at++) {
		bytes[at] ^= 1;
		log_write(folder, bytes, byte_count);
		bytes[at] ^= 1;
		assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
		memset(&found, 0, sizeof(found));
		k2i_ledger_files(ledger, file_take, &found);
		assert_true(report.damaged || report.torn);
		damaged += report.damaged;
		torn += report.torn;
		if (report.damaged) {
			assert_true(!k2i_ledger_find(ledger, ring.uuid, &ring) || ring.flags & K2I_LEDGER_UNCERTAIN);
		} else {
			/* The last but one was on the disk before the last was written. */
			assert_true(k2i_ledger_find(ledger, ring.uuid, &ring));
			assert_in_range(ring.position, 16, 24);
			expect_one_file(&found, ring.position / 8 * 10, true);
		}
		k2i_ledger_close(ledger, false);
	}
	assert_true(damaged > 100 && torn > 100);
	free(bytes);
}

int main(void)
{
#define LEDGER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(test_goes_back_to_checkpoint),
		LEDGER_TEST(test_without_checkpoint_nothing_is_left),
		LEDGER_TEST(test_commits_go_on_during_a_sync),
		LEDGER_TEST(test_checkpoint_outlives_a_process),
		LEDGER_TEST(test_checkpoint_of_earlier_processes),
		LEDGER_TEST(test_closed_file_waits_for_checkpoint),
		LEDGER_TEST(test_changed_file_has_its_checkpoint_there),
		LEDGER_TEST(test_file_of_others_stays),
		LEDGER_TEST(test_file_that_others_left_stays),
		LEDGER_TEST(test_doubt),
		LEDGER_TEST(test_doubt_of_a_closed_file),
		LEDGER_TEST(test_forgotten_in_a_sync),
		LEDGER_TEST(test_damage_and_power_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
