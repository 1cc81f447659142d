/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/base/table.h"
#include "ledger_folder.h"

static uint64_t position_of(const char *name)
{
	struct k2i_ledger_ring wanted = ring_make(name, 0), got;

	if (!k2i_ledger_find(ledger, wanted.uuid, 0, &got))
		return UINT64_MAX;
	assert_int_equal(got.epoch, wanted.epoch);
	return got.position;
}

static uint32_t flags_of(const char *name)
{
	struct k2i_ledger_ring ring = ring_make(name, 0);

	assert_true(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
	return ring.flags;
}

/* As somebody does who puts it back from a backup. */
static void log_copy(void)
{
	uint8_t *bytes;
	size_t byte_count = log_read(&bytes);

	assert_int_equal(unlink(folder.log), 0);
	log_write(bytes, byte_count);
	free(bytes);
}

LEDGER_TEST(test_a_new_one_knows_no_ring)
{
	assert_false(report.found);
	assert_int_equal(position_of("ring"), UINT64_MAX);
}

LEDGER_TEST(test_position_survives)
{
	uint8_t uuid[16];

	memcpy(uuid, k2i_ledger_uuid(ledger), sizeof(uuid));
	commit("one", 8);
	commit("two", 16);
	commit("one", 24);
	open_begun();
	assert_true(report.found && report.same_boot && !report.clean && !report.damaged && !report.torn &&
		    !report.copied);
	assert_int_equal(report.record_count, 4);
	assert_int_equal(position_of("one"), 24);
	assert_int_equal(position_of("two"), 16);
	assert_memory_equal(uuid, k2i_ledger_uuid(ledger), sizeof(uuid));
	ledger_close(true);
	open_begun();
	assert_true(report.clean);
	assert_int_equal(position_of("one"), 24);
}

LEDGER_TEST(test_a_copy_is_noticed)
{
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", true, 0, 0, 0};
	struct k2i_ledger_ring ring = ring_make("one", 8);
	uint64_t number;

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
	log_copy();
	open_after(boot_here);
	assert_true(report.copied && report.same_boot && !report.damaged && !report.torn);
	assert_int_equal(position_of("one"), 8);
	/* Where it would go back to the checkpoint if it were no copy. */
	open_after(boot_other);
	assert_true(report.copied && !report.same_boot);
	assert_int_equal(found.count, 1);
	assert_true(flags_of("one") & K2I_LEDGER_UNCERTAIN);
	ledger_begin();
	open_begun();
	assert_true(report.found && !report.copied);
}

/* Its files went on without it: a power cut later is no reason to go back to what it knew of them. */
LEDGER_TEST(test_nothing_is_cut_for_a_copy)
{
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", true, 0, 0, 0};
	struct k2i_ledger_ring ring = ring_make("one", 8);

	ring.flags = K2I_LEDGER_DEFERRED;
	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	log_copy();
	open_begun();
	assert_true(report.copied && report.same_boot);
	open_after(boot_other);
	assert_int_equal(found.count, 0);
}

/* As it has two names, and so two connections that write to it: who is done last need not have written last. */
LEDGER_TEST(test_a_commit_makes_no_file_shorter)
{
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", false, 0, 0, 0},
				     further = {1, 100, 30, 0, NULL, false, 0, 0, 0},
				     shorter = {1, 100, 20, 0, NULL, false, 0, 0, 0};
	struct k2i_ledger_ring ring = ring_make("one", 8);

	assert_true(k2i_ledger_file_opened(ledger, &file) >= 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &further, 1), 0);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &shorter, 1), 0);
	open_after(boot_here);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 30);
}

LEDGER_TEST(test_other_boot_makes_uncertain)
{
	commit("one", 8);
	open_after(boot_other);
	assert_false(report.same_boot);
	ledger_begin();
	/* It stays uncertain until it is committed again, whatever boots come. */
	open_after(boot_other);
	assert_int_equal(flags_of("one"), K2I_LEDGER_UNCERTAIN);
	ledger_begin();
	commit("one", 16);
	assert_int_equal(flags_of("one"), 0);
}

LEDGER_TEST(test_clean_end_is_certain_in_any_boot)
{
	commit("one", 8);
	ledger_close(true);
	open_after(boot_other);
	assert_int_equal(flags_of("one"), 0);
}

LEDGER_TEST(test_open_files_are_found_again)
{
	struct k2i_ledger_file first = {1, 100, 5, 0, "a/b", false, 0, 0, 0},
			       second = {1, 101, 7, 0, "c", false, 0, 0, 0};
	struct k2i_ledger_ring ring = ring_make("one", 8);

	assert_int_equal(k2i_ledger_file_opened(ledger, &first), 0);
	assert_int_equal(k2i_ledger_file_opened(ledger, &second), 0);
	first.length = 50;
	first.open_writer = 77;
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &first, 1), 0);
	k2i_ledger_file_closed(ledger, 1, 101);
	open_after(boot_here);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 50);
	assert_int_equal(found.last.open_writer, 77);
	assert_string_equal(found.path, "a/b");
	ledger_begin();
	files_find();
	assert_int_equal(found.count, 0);
}

static void both_take(void *argument, const struct k2i_ledger_file *file)
{
	struct k2i_ledger_file *both = argument;

	assert_in_range(file->inode, 100, 101);
	both[file->inode - 100] = *file;
}

/* Each has its own length, also in a log that is written anew meanwhile. */
LEDGER_TEST(test_each_file_of_a_commit_has_its_length)
{
	unsigned anew;

	for (anew = 0; anew < 2; anew++) {
		struct k2i_ledger_file files[2] = {{1, 100, 0, 0, "a", false, 0, 0, 0},
						   {1, 101, 0, 0, "b", false, 0, 0, 0}},
				       both[2];
		struct k2i_ledger_ring ring = ring_make("one", 8);

		open_begun();
		assert_int_equal(k2i_ledger_file_opened(ledger, &files[0]), 0);
		assert_int_equal(k2i_ledger_file_opened(ledger, &files[1]), 0);
		files[0].length = 50;
		files[1].length = 70;
		files[1].open_writer = 7;
		assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 2), 0);
		if (anew) {
			assert_int_equal(unlink(folder.log), 0);
			assert_int_equal(k2i_ledger_check(ledger), 1);
		}
		open_after(boot_here);
		memset(both, 0, sizeof(both));
		k2i_ledger_files(ledger, both_take, both);
		assert_true(both[0].length == 50 && both[0].open_writer == 0);
		assert_true(both[1].length == 70 && both[1].open_writer == 7);
	}
}

LEDGER_TEST(test_one_process_has_it_at_a_time)
{
	struct k2i_ledger *second = NULL;

	assert_int_equal(k2i_ledger_open(folder.ledger, boot_here, &second, &report), -EWOULDBLOCK);
	assert_null(second);
}

#define RECORDS 5u
#define RECORD_BYTES 64u
#define FIRST_AT (K2I_LEDGER_HEADER_BYTES + 16u) /* behind WHOLE */

/* A log of five commits of one ring, at 8, 16 .. 40; only what is used of it. */
static size_t five_commits(uint8_t **bytes)
{
	unsigned i;

	for (i = 1; i <= RECORDS; i++)
		commit("one", i * 8);
	ledger_close(false);
	return log_read(bytes);
}

LEDGER_TEST(test_what_is_before_a_cut_is_found)
{
	size_t used = FIRST_AT + RECORDS * RECORD_BYTES, cut, whole;
	uint8_t *bytes;

	assert_true(five_commits(&bytes) > used);
	for (cut = K2I_LEDGER_HEADER_BYTES; cut <= used; cut++) {
		log_write(bytes, cut);
		open_after(boot_here);
		whole = cut < FIRST_AT ? 0 : (cut - FIRST_AT) / RECORD_BYTES;
		assert_int_equal(report.record_count, whole + (cut >= FIRST_AT));
		assert_int_equal(position_of("one"), whole ? whole * 8 : UINT64_MAX);
		/* Even where a record ends: what is missing may have been acknowledged. */
		assert_true(report.damaged && !report.torn);
		ledger_close(false);
	}
	free(bytes);
}

LEDGER_TEST(test_any_flipped_bit_is_damage)
{
	size_t used = FIRST_AT + RECORDS * RECORD_BYTES, byte_count, at, whole;
	uint8_t *bytes;

	byte_count = five_commits(&bytes);
	for (at = 0; at < used; at++) {
		bytes[at] ^= (uint8_t)(1u << (at % 8));
		log_write(bytes, byte_count);
		bytes[at] ^= (uint8_t)(1u << (at % 8));
		open_after(boot_here);
		assert_true(report.damaged);
		assert_false(report.torn);
		whole = at < FIRST_AT ? 0 : (at - FIRST_AT) / RECORD_BYTES;
		assert_int_equal(position_of("one"), whole ? whole * 8 : UINT64_MAX);
		ledger_close(false);
	}
	free(bytes);
}

/* The kernel copies page by page: the death of the writer leaves a record that ends at a page boundary. */
LEDGER_TEST(test_torn_at_page_boundary)
{
	/* The first has a file more, so that of the last its begin is in the page. */
	uint64_t count = (4096 - FIRST_AT - 48) / RECORD_BYTES + 1, i;
	struct k2i_ledger_ring ring = ring_make("one", 8);
	const struct k2i_ledger_file file = {.birth = 1};
	size_t byte_count;
	uint8_t *bytes;

	assert_int_equal((4096 - FIRST_AT - 48) % RECORD_BYTES, 8);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	for (i = 2; i <= count; i++)
		commit("one", i * 8);
	ledger_close(false);
	byte_count = log_read(&bytes);
	memset(bytes + 4096, 0, byte_count - 4096);
	log_write(bytes, byte_count);
	free(bytes);
	open_after(boot_here);
	assert_true(report.torn && !report.damaged);
	assert_int_equal(position_of("one"), (count - 1) * 8);
}

LEDGER_TEST(test_what_is_no_ledger_is_damaged)
{
	ledger_close(false);
	log_write((const uint8_t *)"something else", 14);
	open_after(boot_here);
	assert_true(report.damaged);
}

static int link_error;

int __real_linkat(int from_directory, const char *from, int to_directory, const char *to, int flags);
int __wrap_linkat(int from_directory, const char *from, int to_directory, const char *to, int flags);
int __wrap_linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
	if (!link_error)
		return __real_linkat(from_directory, from, to_directory, to, flags);
	errno = link_error;
	return -1;
}

/* Also on a file system without hard links. */
LEDGER_TEST(test_a_damaged_one_is_kept)
{
	static const int errors[] = {0, EPERM};
	char kept[sizeof("no ledger")], path[400];
	int file;

	path_in(path, sizeof(path), folder.ledger, "ledger.damaged");
	for (size_t at = 0; at < sizeof(errors) / sizeof(errors[0]); at++) {
		ledger_close(true);
		log_write((const uint8_t *)"no ledger", sizeof(kept));
		link_error = errors[at];
		open_begun();
		link_error = 0;
		assert_true(report.damaged);
		assert_int_equal(report.keep_error, 0);
		file = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(file >= 0);
		assert_int_equal(read(file, kept, sizeof(kept)), sizeof(kept));
		assert_memory_equal(kept, "no ledger", sizeof(kept));
		(void)close(file);
	}
}

LEDGER_TEST(test_rewritten_when_large)
{
	static const char paths[] = "dir/file";
	struct k2i_ledger_file file = {1, 100, 0, 0, paths, false, 0, 0, 0};
	struct k2i_ledger_ring ring = ring_make("busy", 0);
	struct stat status;
	uint64_t i;

	commit("quiet", 4096);
	assert_int_equal(k2i_ledger_file_opened(ledger, &file), 0);
	for (i = 1; i <= 250000; i++) {
		ring.position = file.length = i * 8;
		assert_int_equal(k2i_ledger_commit(ledger, &ring, &file, 1), 0);
	}
	assert_int_equal(stat(folder.log, &status), 0);
	assert_true(status.st_size < 18 * 1024 * 1024);
	open_after(boot_here);
	assert_true(report.record_count < 250000);
	assert_int_equal(position_of("busy"), 2000000);
	assert_int_equal(position_of("quiet"), 4096);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.length, 2000000);
}

/* Rings that come and go for ever take no more room than those that are there. */
LEDGER_TEST(test_forgotten_rings_take_no_room)
{
	struct k2i_ledger_ring ring = ring_make("", 8);
	struct stat status;
	uint64_t i;

	commit("stays", 8);
	for (i = 1; i <= 400000; i++) {
		memcpy(ring.uuid, &i, sizeof(i));
		assert_int_equal(k2i_ledger_commit(ledger, &ring, NULL, 0), 0);
		k2i_ledger_forget(ledger, ring.uuid);
	}
	assert_int_equal(k2i_ledger_ring_count(ledger), 1);
	assert_int_equal(stat(folder.log, &status), 0);
	assert_true(status.st_size < 18 * 1024 * 1024);
	open_begun();
	assert_int_equal(k2i_ledger_ring_count(ledger), 1);
	assert_int_equal(position_of("stays"), 8);
	assert_false(k2i_ledger_find(ledger, ring.uuid, 0, &ring));
}

LEDGER_TEST(test_removed_is_written_again)
{
	commit("one", 8);
	assert_int_equal(k2i_ledger_check(ledger), 0);
	assert_int_equal(unlink(folder.log), 0);
	assert_int_equal(k2i_ledger_check(ledger), 1);
	commit("one", 16);
	/* As "truncate -s 0" of all that is below /var/log does it. */
	assert_int_equal(truncate(folder.log, 0), 0);
	commit("one", 24);
	assert_int_equal(k2i_ledger_check(ledger), 1);
	assert_int_equal(k2i_ledger_check(ledger), 0);
	open_begun();
	assert_false(report.damaged);
	assert_int_equal(position_of("one"), 24);
}

TEST(test_record_limits)
{
	static struct k2i_ledger_record record = {.type = K2I_LEDGER_COMMIT, .file_count = K2I_LEDGER_FILES_MAX};
	uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX];
	char path[1100];
	int length;

	length = k2i_ledger_record_encode(&record, bytes);
	assert_true(length > 0 && length <= (int)sizeof(bytes));
	record.file_count++;
	assert_int_equal(k2i_ledger_record_encode(&record, bytes), -EINVAL);
	memset(path, 'p', sizeof(path));
	record.type = K2I_LEDGER_OPENED;
	record.files[0].path = path;
	path[1023] = '\0';
	length = k2i_ledger_record_encode(&record, bytes);
	assert_true(length > 0 && length <= (int)sizeof(bytes));
	path[1023] = 'p';
	path[1024] = '\0';
	assert_int_equal(k2i_ledger_record_encode(&record, bytes), -EINVAL);
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

/* The file with the ledger's name is the one that the next receiver reads, also if the disk may not have the name. */
LEDGER_TEST(test_its_name_fails_to_get_to_the_disk)
{
	const struct k2i_ledger_file file = {1, 100, 8, 0, "a", false, 0, 0, 0};

	commit("one", 8);
	assert_int_equal(unlink(folder.log), 0);
	fsync_error = EIO;
	assert_int_equal(k2i_ledger_check(ledger), -EIO);
	commit("one", 16);
	/* Before anything is written to a file. */
	assert_int_equal(k2i_ledger_file_opened(ledger, &file), 1);
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	commit("one", 24);
	fsync_error = 0;
	open_begun();
	assert_int_equal(position_of("one"), 24);
	assert_int_equal(k2i_ledger_sync(ledger), 0);
}

static ino_t inode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

/* The next sync would succeed, of pages that the kernel has thrown away: what is relied on is written anew, or is not. */
LEDGER_TEST(test_what_the_disk_refused_is_written_again)
{
	ino_t inode = inode_of(folder.log);

	commit("one", 8);
	fdatasync_error = EIO;
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	assert_int_equal(inode_of(folder.log), inode);
	fdatasync_error = 0;
	assert_int_equal(k2i_ledger_sync(ledger), 0);
	assert_int_not_equal(inode_of(folder.log), inode);
	fdatasync_error = EIO;
	assert_int_equal(k2i_ledger_sync(ledger), -EIO);
	fdatasync_error = 0;
	ledger_close(true);
	open_begun();
	assert_false(report.clean);
	assert_int_equal(position_of("one"), 8);
}

/* That a sync failed is known after a restart, also if there is no room for a new log: what came before may be gone. */
LEDGER_TEST(test_doubt_that_finds_no_room)
{
	commit("one", 8);
	fdatasync_error = ENOSPC;
	k2i_ledger_doubt(ledger);
	open_after(boot_here);
	assert_true(flags_of("one") & K2I_LEDGER_UNCERTAIN);
	fdatasync_error = 0;
	ledger_begin();
	commit("one", 16);
	fdatasync_error = ENOSPC;
	k2i_ledger_doubt(ledger);
	commit("one", 24);
	open_after(boot_here);
	assert_false(flags_of("one") & K2I_LEDGER_UNCERTAIN);
	fdatasync_error = 0;
	ledger_begin();
	fdatasync_error = ENOSPC;
	k2i_ledger_doubt(ledger);
	commit("one", 32);
	k2i_ledger_doubt(ledger);
	fdatasync_error = 0;
	open_after(boot_here);
	assert_true(flags_of("one") & K2I_LEDGER_UNCERTAIN);
	ledger_begin();
}

LEDGER_TEST(test_synced_without_descriptors)
{
	commit("one", 8);
	descriptors_limit(3);
	fdatasyncs = 0;
	assert_int_equal(k2i_ledger_sync(ledger), 0);
	descriptors_limit(RLIM_INFINITY);
	assert_int_equal(fdatasyncs, 1);
}

/* A good end says nothing if something stands behind it. */
LEDGER_TEST(test_damage_behind_a_clean_end)
{
	struct stat status;
	int file;

	commit("one", 8);
	ledger_close(true);
	file = open(folder.log, O_WRONLY | O_CLOEXEC);
	assert_int_equal(fstat(file, &status), 0);
	assert_int_equal(pwrite(file, "x", 1, status.st_size - 1), 1);
	(void)close(file);
	open_after(boot_other);
	assert_true(report.damaged || report.torn);
	assert_false(report.clean);
	assert_true(flags_of("one") & K2I_LEDGER_UNCERTAIN);
}

/* As on a full disk, where nothing is allocated ahead, or by an error of the disk. */
LEDGER_TEST(test_what_is_written_in_part_leaves_nothing)
{
	const size_t end = K2I_LEDGER_HEADER_BYTES + 16 + 56;
	struct k2i_ledger_file files[4] = {{.birth = 1, .inode = 1, .length = 1, .open_writer = 1}};
	struct k2i_ledger_ring ring = ring_make("one", 200);

	commit("one", 100);
	file_bytes_limit(end + 100);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 4), -EFBIG);
	memcpy(ring.uuid, "two", 3);
	assert_int_equal(k2i_ledger_commit(ledger, &ring, files, 4), -EFBIG);
	assert_int_equal(position_of("two"), UINT64_MAX);
	file_bytes_limit(RLIM_INFINITY);
	commit("one", 300);
	open_begun();
	assert_false(report.damaged);
	assert_int_equal(position_of("one"), 300);
}

/* However long it is: a disk that is full then must not keep what was committed from being acknowledged. */
LEDGER_TEST(test_a_new_log_has_room_for_a_sync)
{
	const size_t allocated = 1 << 20, ring_bytes = 80, whole_bytes = 16;
	size_t count = (allocated - K2I_LEDGER_SYNC_BYTES - K2I_LEDGER_HEADER_BYTES - whole_bytes) / ring_bytes;
	uint64_t number;
	char name[24];

	while (count-- > 0) {
		(void)snprintf(name, sizeof(name), "%zu", count);
		commit(name, 8);
	}
	assert_int_equal(unlink(folder.log), 0);
	assert_int_equal(k2i_ledger_check(ledger), 1);
	file_bytes_limit(allocated);
	assert_int_equal(k2i_ledger_mark(ledger, &number), 0);
	assert_int_equal(k2i_ledger_checkpoint(ledger), 0);
	file_bytes_limit(RLIM_INFINITY);
}

/*
 * A sender that knew the seed of the tables could give its rings such uuids, and then no ring would be found quickly.
 */
TEST(test_chosen_uuids_do_not_collide)
{
	static const char one[] = "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
				  "12345678",
			  other[] = "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
				    "abcdefgh";

	assert_true(k2i_table_hash(one, 16) != k2i_table_hash(other, 16));
}
