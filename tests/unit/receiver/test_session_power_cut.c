/* SPDX-License-Identifier: MIT */
/* Files and ledger after a power cut, and the chunks that come again then. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "session_synced_help.h"

struct saved {
	uint8_t *bytes;
	size_t byte_count;
};

static void ledger_path(const struct world *world, char path[300])
{
	assert_true(snprintf(path, 300, "%s/state/ledger", world->root) < 300);
}

/* The ledger as the disk has it now. */
static struct saved ledger_save(const struct world *world)
{
	struct stat status;
	struct saved saved;
	char path[300];
	int file;

	ledger_path(world, path);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0 && fstat(file, &status) == 0);
	saved.byte_count = (size_t)status.st_size;
	saved.bytes = malloc(saved.byte_count);
	assert_non_null(saved.bytes);
	assert_int_equal(read(file, saved.bytes, saved.byte_count), saved.byte_count);
	(void)close(file);
	return saved;
}

static void file_write(const char *path, int flags, const void *bytes, size_t byte_count)
{
	int file = open(path, O_WRONLY | O_CLOEXEC | flags);

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, byte_count), byte_count);
	(void)close(file);
}

/* The machine starts again, with the ledger as it was saved and more in the file than the kernel was asked to write. */
static void power_cut(struct world *world, struct saved saved)
{
	char path[300];

	world_close(world);
	ledger_path(world, path);
	file_write(path, O_TRUNC, saved.bytes, saved.byte_count);
	free(saved.bytes);
	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	file_write(path, O_APPEND, "\0\0torn", 6);
	memcpy(world->boot_id, "another", 7);
	world_open(world);
	session_open(world, 7);
}

/*
 * Chunks that were not acknowledged go and come again; the others are where they were, also if the sender does not
 * know.
 */
SESSION_TEST(test_power_cut)
{
	struct saved saved;

	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	put_and_sync(world, 0, "a");
	saved = ledger_save(world);
	put_and_sync(world, 40, "bc");
	expect_file(world, "file", "abc");
	power_cut(world, saved);
	expect_file(world, "file", "a");
	assert_int_equal(atomic_load(&world->counters.cut_bytes), 8);
	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 40);
	put_and_sync(world, 40, "bc");
	expect_file(world, "file", "abc");
	assert_int_equal(atomic_load(&world->counters.uncertain_ranges), 0);
}

/* Before anything of a file is on the disk the ledger knows there where it begins. */
SESSION_TEST(test_power_cut_at_the_first_record)
{
	struct k2hft_hello hello = hello_make("ring", 1, 0);
	struct saved saved;

	/* As if it was asked for a sync before: for this commit there is none. */
	assert_int_equal(k2i_syncer_start(&world->destination, 0, &world->shared.syncer), 0);
	hello.level = K2HFT_LEVEL_SYNCED;
	put_greeting(world, &hello);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	world->session.syncing.first = 1;
	put_data(world, 0, 0, 1, "ab");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_file(world, "file", "ab");
	saved = ledger_save(world);
	power_cut(world, saved);
	expect_file(world, "file", "");
	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	put_and_sync(world, 0, "ab");
	expect_file(world, "file", "ab");
}

/* Where somebody was acknowledged who does not wait for the disk, the tail stays, and what else is in it comes again. */
SESSION_TEST(test_power_cut_of_mixed_levels)
{
	struct saved saved;

	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	put_and_sync(world, 0, "a");
	session_again(world, 2);
	put_hello(world, "other", 1, 0);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "w");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	expect_ack(world, 40, K2HFT_STATUS_OK);
	k2i_session_end(&world->session);
	saved = ledger_save(world);
	session_open(world, 3);
	(void)synced_open(world, 40, K2HFT_LEVEL_SYNCED, 40);
	put_and_sync(world, 40, "b");
	synced_close(world);
	expect_file(world, "file", "awb");
	power_cut(world, saved);
	assert_int_equal(atomic_load(&world->counters.cut_bytes), 0);
	assert_int_equal(atomic_load(&world->counters.uncertain_bytes), 7);
	put_hello(world, "other", 1, 40);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, 40);
	assert_int_equal(atomic_load(&world->counters.uncertain_ranges), 1);
	/* A sender that comes again before anything else was committed is in the same doubt. */
	session_again(world, 8);
	put_hello(world, "other", 2, 40);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, 40);
	assert_int_equal(atomic_load(&world->counters.uncertain_ranges), 1);
	session_again(world, 9);
	(void)synced_open(world, 40, K2HFT_LEVEL_SYNCED, 40);
	put_and_sync(world, 40, "b");
	assert_int_equal(atomic_load(&world->counters.uncertain_ranges), 1);
}
