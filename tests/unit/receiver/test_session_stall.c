/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unit.h"
#include "session_world.h"
#include "wrapped_names.h"

SESSION_TEST(test_hold_and_resume)
{
	char path[300];

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	/* The base directory goes away, then comes back. */
	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(world->base), 0);
	put_data(world, 40, 0, 1, "b");
	put_data(world, 80, 0, 1, "c");
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, -ENOENT);
	assert_string_equal(world->session.stall_place, "file");
	k2i_session_ack(&world->session);
	expect_ack(world, 40, K2HFT_STATUS_FAILED);
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(mkdir(world->base, 0700), 0);
	k2i_outputs_tick(world->outputs, 1);
	expect_taken(world, 120);
	expect_file(world, "file", "bc");
	assert_int_equal(atomic_load(&world->counters.duplicate_chunks), 0);
	assert_int_equal(atomic_load(&world->counters.frames), 3);
}

static int write_error;
static const char *write_empties;   /* a file, which somebody empties at the same time */
static size_t disk_room = SIZE_MAX; /* of a disk that is full behind it */

/* A part of the first vector at least, as long as there is room. */
static ssize_t write_within_room(int descriptor, const struct iovec *vectors)
{
	size_t bytes = vectors->iov_len < disk_room ? vectors->iov_len : disk_room;

	disk_room -= bytes;
	errno = ENOSPC;
	return bytes ? write(descriptor, vectors->iov_base, bytes) : -1;
}

/* Named by the linker: the output files' writes. */
ssize_t __real_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count)
{
	if (write_empties)
		assert_int_equal(truncate(write_empties, 0), 0);
	if (disk_room != SIZE_MAX)
		return write_within_room(descriptor, vectors);
	errno = write_error;
	return write_error ? -1 : __real_writev(descriptor, vectors, count);
}

/* NFS says ESTALE, and a file system of somebody's program anything: none of that is about who has the ring. */
SESSION_TEST(test_any_error_holds)
{
	static const int errors[] = {ESTALE, ENOTCONN, EPIPE, ENOBUFS, EPROTO};
	size_t i;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		write_error = errors[i];
		assert_int_equal(take(world), K2I_SESSION_STALL);
		assert_int_equal(world->session.stall_error, -errors[i]);
		assert_string_equal(world->session.stall_place, "file");
	}
	write_error = 0;
	assert_int_equal(atomic_load(&world->counters.fenced), 0);
	expect_taken(world, 40);
	expect_file(world, "file", "a");
}

static int ledger_error;

/* Named by the linker: the ledger's writes. */
ssize_t __real_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset)
{
	errno = ledger_error;
	return ledger_error ? -1 : __real_pwrite(descriptor, bytes, byte_count, offset);
}

/* An error that a file could have itself is nothing for the quarantine if it is the ledger's, whose disk can be another. */
SESSION_TEST(test_ledger_holds)
{
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	ledger_error = EPERM;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, -EPERM);
	assert_string_equal(world->session.stall_place, "the ledger");
	ledger_error = 0;
	expect_taken(world, 40);
	/* The file is known to it already. */
	put_data(world, 40, 0, 1, "b");
	ledger_error = ENOSPC;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_string_equal(world->session.stall_place, "the ledger");
	ledger_error = 0;
	expect_taken(world, 80);
	expect_file(world, "file", "ab");
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 0);
}

/* The bytes that were written are taken back, and not those from before. */
SESSION_TEST(test_held_at_the_first_write)
{
	FILE *file;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	file = fopen(path, "we");
	assert_true(file && fputs("before ", file) >= 0 && fclose(file) == 0);
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	write_error = EIO;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	expect_file(world, "file", "before ");
	write_error = 0;
	expect_taken(world, 40);
	expect_file(world, "file", "before a");
}

/* Chunks that came before in the same bytes are not taken again with the held ones. */
SESSION_TEST(test_held_behind_its_greeting)
{
	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "file");
	put_ping(world);
	put_data(world, 0, 0, 1, "a");
	write_error = EIO;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	(void)expect_welcome(world);
	expect_pong(world);
	write_error = 0;
	expect_taken(world, 40);
	assert_int_equal(world->session.output_bytes, 0);
	expect_file(world, "file", "a");
}

/* A peer that does not read what it is told each time is held as long as nothing can be written. */
SESSION_TEST(test_held_without_room_for_answers)
{
	unsigned i;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	write_error = EIO;
	for (i = 0; i < K2I_SESSION_OUTPUT_BYTES / K2HFT_FRAME_HEADER_BYTES; i++) {
		assert_int_equal(take(world), K2I_SESSION_STALL);
		k2i_session_ack(&world->session);
	}
	write_error = 0;
	world->session.output_bytes = 0;
	expect_taken(world, 40);
	expect_file(world, "file", "a");
}

/* Room is made on a full disk just when a write fails: what is taken back is not more than there is. */
SESSION_TEST(test_emptied_while_full)
{
	char path[300];

	open_session(world);
	put_data(world, 0, 0, 1, "abc");
	expect_taken(world, 120);
	put_data(world, 120, 0, 1, "d");
	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	write_empties = path;
	write_error = ENOSPC;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	write_empties = NULL;
	write_error = 0;
	expect_taken(world, 160);
	expect_file(world, "file", "d");
	assert_int_equal(atomic_load(&world->counters.changed_files), 1);
}

#define GROUP_CHUNKS (K2I_GROUP_COST_MAX / 4096) /* small ones */

/* Four frames with more chunks than a group holds, in one call. */
static void put_many(struct world *world)
{
	static char text[10001];
	uint64_t i;

	memset(text, 'x', sizeof(text) - 1);
	for (i = 0; i < 4; i++)
		put_data(world, i * 10000 * 40, 0, 1, text);
	assert_true(4 * 10000 > GROUP_CHUNKS);
}

SESSION_TEST(test_many_small_chunks)
{
	open_session(world);
	put_many(world);
	expect_taken(world, 4 * 10000 * 40);
	assert_int_equal(atomic_load(&world->counters.chunks), 40000);
	assert_int_equal(atomic_load(&world->counters.bytes), 40000);
	assert_int_equal(atomic_load(&world->counters.commits), (4 * 10000 + GROUP_CHUNKS - 1) / GROUP_CHUNKS);
}

/* Held in the second group of a call: what the first brought is neither written nor counted again. */
SESSION_TEST(test_held_in_mid_frame)
{
	char path[300];
	struct stat status;

	open_session(world);
	put_many(world);
	disk_room = GROUP_CHUNKS + 100;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, -ENOSPC);
	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, GROUP_CHUNKS);
	assert_int_equal(take(world), K2I_SESSION_STALL);
	disk_room = SIZE_MAX;
	expect_taken(world, 4 * 10000 * 40);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 40000);
	assert_int_equal(atomic_load(&world->counters.chunks), 40000);
	assert_int_equal(atomic_load(&world->counters.duplicate_chunks), 0);
}

/* A file that is as long as it can be holds nobody: its chunks go to the quarantine, the others into their files. */
STATE_TEST(test_file_at_its_limit, setup, teardown)
{
	struct world *world = *state;
	char file[300], kept[300];
	struct stat status;

	(void)snprintf(file, sizeof(file), "%s/file", world->base);
	open_session(world);
	put_stream(world, 2, "other");
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	assert_int_equal(truncate(file, 4095), 0);
	file_bytes_limit(4096);
	/* The first of them would fit. */
	put_data(world, 40, 0, 1, "bc");
	put_data(world, 120, 0, 2, "d");
	expect_taken(world, 160);
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_size, 4095);
	expect_file(world, "other", "d");
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 2);
	(void)snprintf(kept, sizeof(kept), "%s/state/72696e67-0000-0000-0000-000000000000-%020d", world->root, 80);
	expect_contents(kept, "c");
	file_bytes_limit(RLIM_INFINITY);
	put_data(world, 160, 0, 1, "e");
	expect_taken(world, 200);
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_size, 4096);
}
