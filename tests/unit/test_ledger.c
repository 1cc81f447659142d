/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../receiver/table.h"
#include "ledger_folder.h"

static uint64_t position_of(struct k2i_ledger *ledger, const char *name)
{
	struct k2i_ledger_ring wanted = ring_make(name, 0), found;

	if (!k2i_ledger_find(ledger, wanted.uuid, &found))
		return UINT64_MAX;
	assert_int_equal(found.epoch, wanted.epoch);
	return found.position;
}

static void test_fresh(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);

	assert_false(report.found);
	assert_int_equal(position_of(ledger, "ring"), UINT64_MAX);
	k2i_ledger_close(ledger, true);
}

static void test_position_survives(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	uint8_t uuid[16];

	memcpy(uuid, k2i_ledger_uuid(ledger), sizeof(uuid));
	commit(ledger, "one", 8);
	commit(ledger, "two", 16);
	commit(ledger, "one", 24);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(*state, &report);
	assert_true(report.found && report.same_boot && !report.clean && !report.damaged && !report.torn &&
		    !report.copied);
	assert_int_equal(report.record_count, 4);
	assert_int_equal(position_of(ledger, "one"), 24);
	assert_int_equal(position_of(ledger, "two"), 16);
	assert_memory_equal(uuid, k2i_ledger_uuid(ledger), sizeof(uuid));
	k2i_ledger_close(ledger, true);
	ledger = open_begun(*state, &report);
	assert_true(report.clean);
	assert_int_equal(position_of(ledger, "one"), 24);
	k2i_ledger_close(ledger, false);
}

static void test_copy(void **state)
{
	struct folder *folder = *state;
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", true};
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("one", 8);
	struct found_files found = {0};
	size_t byte_count;
	uint64_t number;
	uint8_t *bytes;

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
	byte_count = log_read(folder, &bytes);
	assert_int_equal(unlink(folder->log), 0);
	log_write(folder, bytes, byte_count);
	free(bytes);
	k2i_ledger_close(ledger, false);
	ledger = NULL;
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	assert_true(report.copied && report.same_boot && !report.damaged && !report.torn);
	assert_int_equal(position_of(ledger, "one"), 8);
	k2i_ledger_close(ledger, false);
	/* Where it would go back to the checkpoint if it were no copy. */
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	assert_true(report.copied && !report.same_boot);
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 1);
	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring) && ring.flags & K2I_LEDGER_UNCERTAIN);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(folder, &report);
	assert_true(report.found && !report.copied);
	k2i_ledger_close(ledger, true);
}

/* Its files went on without it: a power cut later is no reason to go back to what it knew of them. */
static void test_nothing_is_cut_for_a_copy(void **state)
{
	struct folder *folder = *state;
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", true};
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("one", 8);
	struct found_files found = {0};
	size_t byte_count;
	uint8_t *bytes;

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	byte_count = log_read(folder, &bytes);
	assert_int_equal(unlink(folder->log), 0);
	log_write(folder, bytes, byte_count);
	free(bytes);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(folder, &report);
	assert_true(report.copied && report.same_boot);
	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

/* As it has two names, and so two connections that write to it: who is done last need not have written last. */
static void test_a_commit_makes_no_file_shorter(void **state)
{
	struct folder *folder = *state;
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", false}, further = {1, 100, 30, 0, NULL, false},
				     shorter = {1, 100, 20, 0, NULL, false};
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("one", 8);
	struct found_files found = {0};

	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &further, 1), 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &shorter, 1), 0);
	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 30);
	k2i_ledger_close(ledger, false);
}

static void test_other_boot_makes_uncertain(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("one", 0);

	commit(ledger, "one", 8);
	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	assert_false(report.same_boot);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	k2i_ledger_close(ledger, false);
	/* It stays uncertain until it is committed again, whatever boots come. */
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring));
	assert_int_equal(ring.flags, K2I_LEDGER_UNCERTAIN);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	commit(ledger, "one", 16);
	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring));
	assert_int_equal(ring.flags, 0);
	k2i_ledger_close(ledger, false);
}

static void test_clean_end_is_certain_in_any_boot(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("one", 0);

	commit(ledger, "one", 8);
	k2i_ledger_close(ledger, true);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring));
	assert_int_equal(ring.flags, 0);
	k2i_ledger_close(ledger, false);
}

static void test_files(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_file first = {1, 100, 5, 0, "a/b", false}, second = {1, 101, 7, 0, "c", false};
	struct k2i_ledger_ring ring = ring_make("one", 8);
	struct found_files found = {0};

	assert_int_equal(k2i_ledger_file_opened(ledger, &first), 0);
	assert_int_equal(k2i_ledger_file_opened(ledger, &second), 0);
	first.length = 50;
	first.open_writer = 77;
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &first, 1), 0);
	k2i_ledger_file_closed(ledger, 1, 101);
	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 50);
	assert_int_equal(found.last.open_writer, 77);
	assert_string_equal(found.path, "a/b");
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	memset(&found, 0, sizeof(found));
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 0);
	k2i_ledger_close(ledger, false);
}

static void files_take(void *argument, const struct k2i_ledger_file *file)
{
	struct k2i_ledger_file *found = argument;

	assert_in_range(file->inode, 100, 101);
	found[file->inode - 100] = *file;
}

/* Each has its own length, also in a log that is written anew meanwhile. */
static void test_files_of_one_commit(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger;
	unsigned anew;

	for (anew = 0; anew < 2; anew++) {
		struct k2i_ledger_file files[2] = {{1, 100, 0, 0, "a", false}, {1, 101, 0, 0, "b", false}}, found[2];
		struct k2i_ledger_ring ring = ring_make("one", 8);

		ledger = open_begun(folder, &report);
		assert_int_equal(k2i_ledger_file_opened(ledger, &files[0]), 0);
		assert_int_equal(k2i_ledger_file_opened(ledger, &files[1]), 0);
		files[0].length = 50;
		files[1].length = 70;
		files[1].open_writer = 7;
		assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 2), 0);
		if (anew) {
			assert_int_equal(unlink(folder->log), 0);
			assert_int_equal(k2i_ledger_check(ledger), 1);
		}
		k2i_ledger_close(ledger, false);
		assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
		memset(found, 0, sizeof(found));
		k2i_ledger_files(ledger, files_take, found);
		assert_true(found[0].length == 50 && found[0].open_writer == 0);
		assert_true(found[1].length == 70 && found[1].open_writer == 7);
		k2i_ledger_close(ledger, false);
	}
}

static void test_one_at_a_time(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report), *second = NULL;

	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &second, &report), -EWOULDBLOCK);
	assert_null(second);
	k2i_ledger_close(ledger, false);
}

#define RECORDS 5u
#define RECORD_BYTES 56u
#define FIRST_AT (K2I_LEDGER_HEADER_BYTES + 16u) /* behind WHOLE */

/* A log of five commits of one ring, at 8, 16 .. 40; only what is used of it. */
static size_t five_commits(const struct folder *folder, uint8_t **bytes)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	unsigned i;

	for (i = 1; i <= RECORDS; i++)
		commit(ledger, "one", i * 8);
	k2i_ledger_close(ledger, false);
	return log_read(folder, bytes);
}

static void test_cut_at_every_byte(void **state)
{
	struct folder *folder = *state;
	size_t used = FIRST_AT + RECORDS * RECORD_BYTES, cut, whole;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger;
	uint8_t *bytes;

	assert_true(five_commits(folder, &bytes) > used);
	for (cut = K2I_LEDGER_HEADER_BYTES; cut <= used; cut++) {
		log_write(folder, bytes, cut);
		assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
		whole = cut < FIRST_AT ? 0 : (cut - FIRST_AT) / RECORD_BYTES;
		assert_int_equal(report.record_count, whole + (cut >= FIRST_AT));
		assert_int_equal(position_of(ledger, "one"), whole ? whole * 8 : UINT64_MAX);
		/* Even where a record ends: what is missing may have been acknowledged. */
		assert_true(report.damaged && !report.torn);
		k2i_ledger_close(ledger, false);
	}
	free(bytes);
}

static void test_flipped_bits(void **state)
{
	struct folder *folder = *state;
	size_t used = FIRST_AT + RECORDS * RECORD_BYTES, byte_count, at, whole;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger;
	uint8_t *bytes;

	byte_count = five_commits(folder, &bytes);
	for (at = 0; at < used; at++) {
		bytes[at] ^= (uint8_t)(1u << (at % 8));
		log_write(folder, bytes, byte_count);
		bytes[at] ^= (uint8_t)(1u << (at % 8));
		assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
		assert_true(report.damaged);
		assert_false(report.torn);
		whole = at < FIRST_AT ? 0 : (at - FIRST_AT) / RECORD_BYTES;
		assert_int_equal(position_of(ledger, "one"), whole ? whole * 8 : UINT64_MAX);
		k2i_ledger_close(ledger, false);
	}
	free(bytes);
}

/* The kernel copies page by page: the death of the writer leaves a record that ends at a page boundary. */
static void test_torn_at_page_boundary(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	/* The first has a file more, so that of the last its begin is in the page. */
	uint64_t count = (4096 - FIRST_AT - 32) / RECORD_BYTES + 1, i;
	struct k2i_ledger_ring ring = ring_make("one", 8);
	const struct k2i_ledger_file file = {.birth = 1};
	size_t byte_count;
	uint8_t *bytes;

	assert_int_equal((4096 - FIRST_AT - 32) % RECORD_BYTES, 16);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	for (i = 2; i <= count; i++)
		commit(ledger, "one", i * 8);
	k2i_ledger_close(ledger, false);
	byte_count = log_read(folder, &bytes);
	memset(bytes + 4096, 0, byte_count - 4096);
	log_write(folder, bytes, byte_count);
	free(bytes);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	assert_true(report.torn && !report.damaged);
	assert_int_equal(position_of(ledger, "one"), (count - 1) * 8);
	k2i_ledger_close(ledger, false);
}

static void test_other_version(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = NULL;
	uint8_t *bytes;

	(void)five_commits(folder, &bytes);
	free(bytes);
	log_write(folder, (const uint8_t *)"something else", 14);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	assert_true(report.damaged);
	k2i_ledger_close(ledger, false);
}

static void test_rewritten_when_large(void **state)
{
	static const char paths[] = "dir/file";
	struct folder *folder = *state;
	struct k2i_ledger_file file = {1, 100, 0, 0, paths, false};
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("busy", 0);
	struct found_files found = {0};
	struct stat status;
	uint64_t i;

	commit(ledger, "quiet", 4096);
	assert_int_equal(k2i_ledger_file_opened(ledger, &file), 0);
	for (i = 1; i <= 250000; i++) {
		ring.position = file.length = i * 8;
		assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	}
	assert_int_equal(stat(folder->log, &status), 0);
	assert_true(status.st_size < 18 * 1024 * 1024);
	k2i_ledger_close(ledger, false);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, &report), 0);
	assert_true(report.record_count < 250000);
	assert_int_equal(position_of(ledger, "busy"), 2000000);
	assert_int_equal(position_of(ledger, "quiet"), 4096);
	k2i_ledger_files(ledger, file_take, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 2000000);
	k2i_ledger_close(ledger, false);
}

/* Rings that come and go for ever take no more room than those that are there. */
static void test_forgotten_rings_take_no_room(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	struct k2i_ledger_ring ring = ring_make("", 8);
	struct stat status;
	uint64_t i;

	commit(ledger, "stays", 8);
	for (i = 1; i <= 400000; i++) {
		memcpy(ring.uuid, &i, sizeof(i));
		assert_int_equal(k2i_ledger_commit(ledger, &ring, NULL, 0), 0);
		k2i_ledger_forget(ledger, ring.uuid);
	}
	assert_int_equal(k2i_ledger_ring_count(ledger), 1);
	assert_int_equal(stat(folder->log, &status), 0);
	assert_true(status.st_size < 18 * 1024 * 1024);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(folder, &report);
	assert_int_equal(k2i_ledger_ring_count(ledger), 1);
	assert_int_equal(position_of(ledger, "stays"), 8);
	assert_false(k2i_ledger_find(ledger, ring.uuid, &ring));
	k2i_ledger_close(ledger, false);
}

static void test_removed_is_written_again(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);

	commit(ledger, "one", 8);
	assert_int_equal(k2i_ledger_check(ledger), 0);
	assert_int_equal(unlink(folder->log), 0);
	assert_int_equal(k2i_ledger_check(ledger), 1);
	commit(ledger, "one", 16);
	/* As "truncate -s 0" of all that is below /var/log does it. */
	assert_int_equal(truncate(folder->log, 0), 0);
	commit(ledger, "one", 24);
	assert_int_equal(k2i_ledger_check(ledger), 1);
	assert_int_equal(k2i_ledger_check(ledger), 0);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(folder, &report);
	assert_false(report.damaged);
	assert_int_equal(position_of(ledger, "one"), 24);
	k2i_ledger_close(ledger, false);
}

static void test_record_limits(void **state)
{
	struct k2i_ledger_ring ring = ring_make("one", 8);
	static struct k2i_ledger_file files[K2I_LEDGER_FILES_MAX + 1];
	uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX];
	char path[1100];
	int length;

	(void)state;
	length = k2i_ledger_commit_encode(&ring, files, K2I_LEDGER_FILES_MAX, bytes);
	assert_true(length > 0 && length <= (int)sizeof(bytes));
	assert_int_equal(k2i_ledger_commit_encode(&ring, files, K2I_LEDGER_FILES_MAX + 1, bytes), -EINVAL);
	memset(path, 'p', sizeof(path));
	files[0].path = path;
	path[1023] = '\0';
	length = k2i_ledger_opened_encode(&files[0], bytes);
	assert_true(length > 0 && length <= (int)sizeof(bytes));
	path[1023] = 'p';
	path[1024] = '\0';
	assert_int_equal(k2i_ledger_opened_encode(&files[0], bytes), -EINVAL);
}

static int fsync_error;

/* Named by the linker. */
static int fdatasync_error;
static unsigned fdatasyncs;

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor)
{
	fdatasyncs++;
	errno = fdatasync_error;
	return fdatasync_error ? -1 : __real_fdatasync(descriptor);
}

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor)
{
	errno = fsync_error;
	return fsync_error ? -1 : __real_fsync(descriptor);
}

/* What has the ledger's name is what the next receiver reads, also if the disk may not have the name. */
static void test_its_name_fails_to_get_to_the_disk(void **state)
{
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", false};
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);

	commit(ledger, "one", 8);
	assert_int_equal(unlink(folder->log), 0);
	fsync_error = EIO;
	assert_int_equal(k2i_ledger_check(ledger), -EIO);
	commit(ledger, "one", 16);
	/* Before anything is written to a file. */
	assert_int_equal(k2i_ledger_file_opened(ledger, &file), 1);
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	commit(ledger, "one", 24);
	fsync_error = 0;
	k2i_ledger_close(ledger, false);
	ledger = open_begun(folder, &report);
	assert_int_equal(position_of(ledger, "one"), 24);
	assert_int_equal(k2i_ledger_sync(ledger), 0);
	k2i_ledger_close(ledger, false);
}

static ino_t inode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

/* The next sync would succeed, of pages that the kernel has thrown away: what is relied on is written anew, or is not. */
static void test_what_the_disk_refused_is_written_again(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	ino_t inode = inode_of(folder->log);

	commit(ledger, "one", 8);
	fdatasync_error = EIO;
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	assert_int_equal(inode_of(folder->log), inode);
	fdatasync_error = 0;
	assert_int_equal(k2i_ledger_sync(ledger), 0);
	assert_int_not_equal(inode_of(folder->log), inode);
	fdatasync_error = EIO;
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	fdatasync_error = 0;
	k2i_ledger_close(ledger, true);
	ledger = open_begun(folder, &report);
	assert_false(report.clean);
	assert_int_equal(position_of(ledger, "one"), 8);
	k2i_ledger_close(ledger, true);
}

static void test_synced_without_descriptors(void **state)
{
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);
	struct rlimit before, limit;

	commit(ledger, "one", 8);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fdatasyncs = 0;
	assert_int_equal(k2i_ledger_sync(ledger), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fdatasyncs, 1);
	k2i_ledger_close(ledger, true);
}

/* A good end says nothing if something stands behind it. */
static void test_damage_behind_a_clean_end(void **state)
{
	struct folder *folder = *state;
	struct k2i_ledger_ring ring = ring_make("one", 0);
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(folder, &report);
	size_t byte_count;
	uint8_t *bytes;
	int file;

	commit(ledger, "one", 8);
	k2i_ledger_close(ledger, true);
	byte_count = log_read(folder, &bytes);
	free(bytes);
	file = open(folder->log, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(file, "x", 1, (off_t)byte_count - 1), 1);
	(void)close(file);
	assert_int_equal(k2i_ledger_open(folder->ledger, boot_other, &ledger, &report), 0);
	assert_true(report.damaged || report.torn);
	assert_false(report.clean);
	assert_true(k2i_ledger_find(ledger, ring.uuid, &ring) && ring.flags & K2I_LEDGER_UNCERTAIN);
	k2i_ledger_close(ledger, false);
}

/* As on a full disk, where nothing is allocated ahead, or by an error of the disk. */
static void test_what_is_written_in_part_leaves_nothing(void **state)
{
	const size_t end = K2I_LEDGER_HEADER_BYTES + 16 + 56;
	struct rlimit limit, whole;
	struct k2i_ledger_file files[4] = {{.birth = 1, .inode = 1, .length = 1, .open_writer = 1}};
	struct k2i_ledger_ring ring = ring_make("one", 200);
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger = open_begun(*state, &report);

	commit(ledger, "one", 100);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	limit = (struct rlimit){.rlim_cur = end + 100, .rlim_max = whole.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 4), -EFBIG);
	memcpy(ring.uuid, "two", 3);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 4), -EFBIG);
	assert_int_equal(position_of(ledger, "two"), UINT64_MAX);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	commit(ledger, "one", 300);
	k2i_ledger_close(ledger, false);
	ledger = open_begun(*state, &report);
	assert_false(report.damaged);
	assert_int_equal(position_of(ledger, "one"), 300);
	k2i_ledger_close(ledger, true);
}

/* Whoever knew the seed of the tables could give his rings such uuids, and then no ring would be found quickly. */
static void test_chosen_uuids(void **state)
{
	static const char one[] = "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
				  "12345678",
			  other[] = "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
				    "abcdefgh";

	(void)state;
	assert_true(k2i_table_hash(one, 16) != k2i_table_hash(other, 16));
}

int main(void)
{
#define LEDGER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(test_fresh),
		LEDGER_TEST(test_position_survives),
		LEDGER_TEST(test_copy),
		LEDGER_TEST(test_nothing_is_cut_for_a_copy),
		LEDGER_TEST(test_a_commit_makes_no_file_shorter),
		LEDGER_TEST(test_other_boot_makes_uncertain),
		LEDGER_TEST(test_clean_end_is_certain_in_any_boot),
		LEDGER_TEST(test_files),
		LEDGER_TEST(test_files_of_one_commit),
		LEDGER_TEST(test_one_at_a_time),
		LEDGER_TEST(test_cut_at_every_byte),
		LEDGER_TEST(test_flipped_bits),
		LEDGER_TEST(test_torn_at_page_boundary),
		LEDGER_TEST(test_other_version),
		LEDGER_TEST(test_rewritten_when_large),
		LEDGER_TEST(test_forgotten_rings_take_no_room),
		LEDGER_TEST(test_removed_is_written_again),
		LEDGER_TEST(test_its_name_fails_to_get_to_the_disk),
		LEDGER_TEST(test_what_the_disk_refused_is_written_again),
		LEDGER_TEST(test_synced_without_descriptors),
		LEDGER_TEST(test_damage_behind_a_clean_end),
		cmocka_unit_test(test_record_limits),
		cmocka_unit_test(test_chosen_uuids),
		LEDGER_TEST(test_what_is_written_in_part_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
