/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/sink/file/internal.h"
#include "session_synced_help.h"

SESSION_TEST(test_synced_waits)
{
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	uint64_t number;

	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	number = world->session.ring->rows[0].number;
	/* More can be committed meanwhile; it is acknowledged with the next round. */
	put_data(world, 40, 0, 1, "bc");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.output_bytes, 0);
	assert_int_equal(k2i_syncer_wait(syncer, number), 0);
	assert_true(k2i_session_synced(&world->session));
	expect_ack(world, 40, K2HFT_STATUS_OK);
	expect_synced(world, 120);
	assert_false(k2i_session_synced(&world->session));
	expect_file(world, "file", "abc");
	assert_true(atomic_load(&world->counters.syncs) >= 1);
	/* A sender that ends without it is told what is on the disk; the rest gets there, too. */
	put_data(world, 120, 0, 1, "d");
	put_bye(world, 0);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 120, K2HFT_STATUS_OK);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.number), 0);
	expect_file(world, "file", "abcd");
}

/* There was no room for it, since the sender had stopped reading: once it goes on it must not wait for ever. */
SESSION_TEST(test_what_found_no_room_comes_later)
{
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);

	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), 0);
	world->session.output_bytes = K2I_SESSION_OUTPUT_BYTES - 1;
	assert_true(k2i_session_synced(&world->session));
	world->session.output_bytes = 0;
	put_ping(world);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_pong(world);
	expect_ack(world, 40, K2HFT_STATUS_OK);
}

/* FILE_SYNC = always gives it to everybody; what came before, or before a kill, is on the disk before WELCOME says so. */
SESSION_TEST(test_synced_always)
{
	struct k2i_syncer *syncer;
	uint64_t number;
	int killed;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	number = world->session.ring->rows[0].number;
	for (killed = 0; killed < 2; killed++) {
		k2i_session_end(&world->session);
		if (killed) {
			world_close(world);
			world_open(world);
		}
		world->shared.sync_always = true;
		session_open(world, 2);
		syncer = synced_open(world, 40, K2HFT_LEVEL_WRITTEN, 40);
		assert_true(k2i_syncer_done(syncer) >= (killed ? 1 : number));
		synced_close(world);
	}
}

/* The disk refuses what is put in; "file", which is acquired, is as before then. */
static struct k2i_output_file *put_in_vain(struct world *world, uint64_t position, const char *text)
{
	struct k2i_syncer *syncer = world->shared.syncer;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), good;
	struct k2i_output_file *output;

	assert_int_equal(k2i_output_acquire(world->outputs, "file", &output), 0);
	good = dup(output->descriptor);
	assert_true(null >= 0 && good >= 0 && dup2(null, output->descriptor) >= 0);
	put_data(world, position, 0, 1, text);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), -EIO);
	assert_true(dup2(good, output->descriptor) >= 0);
	(void)close(null);
	(void)close(good);
	/* A round can have begun before. */
	while (k2i_syncer_wait(syncer, world->session.ring->rows[0].number))
		continue;
	return output;
}

/* Data that the disk refused is not acknowledged by a later success: the sender sends it again. */
STATE_TEST(test_sync_fails, setup, teardown)
{
	struct world *world = *state;
	struct k2i_output_file *output;

	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	put_and_sync(world, 0, "a");
	output = put_in_vain(world, 40, "b");
	/* Chunks that it sends before it hears of that make nothing better. */
	put_data(world, 80, 0, 1, "c");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_true(k2i_session_synced(&world->session));
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
	assert_true(atomic_load(&world->counters.sync_errors) >= 1);
	assert_int_equal(world->session.durable, 40);
	session_again(world, 2);
	/* The ledger says 120. */
	(void)synced_open(world, 40, K2HFT_LEVEL_SYNCED, 40);
	put_and_sync(world, 40, "b");
	expect_file(world, "file", "acb");
	k2i_output_release(world->outputs, output);
}

/* At the end of the receiver what came last is acknowledged, too; at that of a sender nothing that the disk refused. */
SESSION_TEST(test_synced_at_the_end)
{
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	struct k2i_output_file *output;

	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), 0);
	/* The first round's result has reached nobody yet. */
	put_data(world, 40, 0, 1, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_true(k2i_session_sync_wait(&world->session));
	assert_true(k2i_syncer_done(syncer) >= world->session.ring->rows[0].number);
	k2i_session_ack(&world->session);
	expect_ack(world, 80, K2HFT_STATUS_OK);
	output = put_in_vain(world, 80, "c");
	put_bye(world, 0);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 80, K2HFT_STATUS_OK);
	k2i_output_release(world->outputs, output);
}

static bool wait_fails;          /* of a write, for what was written long before */
static void (*sync_fails)(void); /* once, and what is done meanwhile */

/* Named by the linker. An error that one of them has told the other does not tell again, as the kernel's. */
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags);
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags)
{
	(void)descriptor;
	(void)from;
	(void)byte_count;
	if (!wait_fails || !(flags & SYNC_FILE_RANGE_WAIT_BEFORE))
		return 0;
	wait_fails = false;
	errno = EIO;
	return -1;
}

static atomic_bool ledger_fails;
#define LEDGER_BYTES_MIN (1 << 20) /* of what it allocates ahead */

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor)
{
	void (*meanwhile)(void) = sync_fails;
	struct stat status;

	if (fstat(descriptor, &status) < 0)
		return -1;
	if (atomic_load(&ledger_fails) && status.st_size >= LEDGER_BYTES_MIN) {
		errno = ENOSPC;
		return -1;
	}
	if (!meanwhile || status.st_size != 2)
		return __real_fdatasync(descriptor);
	sync_fails = NULL;
	meanwhile();
	errno = EIO;
	return -1;
}

/* It has data on the disk, and says so later: nobody needs to send that again. */
STATE_TEST(test_ledger_fails, setup, teardown)
{
	struct world *world = *state;
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);

	put_and_sync(world, 0, "a");
	atomic_store(&ledger_fails, true);
	put_data(world, 40, 0, 1, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.number), -EIO);
	assert_false(k2i_session_synced(&world->session));
	assert_int_equal(world->session.state, K2I_SESSION_OPEN);
	/* Until it is tried again nobody waits in vain. */
	assert_int_equal(k2i_syncer_wait(syncer, world->session.number), -EIO);
	atomic_store(&ledger_fails, false);
	while (k2i_syncer_wait(syncer, world->session.number))
		(void)usleep(1000);
	assert_true(k2i_session_synced(&world->session));
	expect_ack(world, 80, K2HFT_STATUS_OK);
	assert_int_equal(atomic_load(&world->counters.sync_errors), 0);
	assert_true(atomic_load(&world->counters.ledger_sync_errors) > 0);
	expect_file(world, "file", "ab");
}

/* As if so much more had been written since. */
static void file_lengthen(const struct world *world)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	assert_int_equal(truncate(path, (off_t)(2 * k2i_store_waiting_bytes(1))), 0);
}

/* The disk lost what was written long ago, and it is the write of a third chunk that is told so. */
static struct k2i_output_file *write_told(struct world *world)
{
	struct k2i_output_file *output;

	assert_int_equal(k2i_output_acquire(world->outputs, "file", &output), 0);
	k2i_store_behind_set(&output->behind, 0);
	wait_fails = true;
	put_data(world, 80, 0, 1, "c");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_false(wait_fails);
	return output;
}

/* Nothing since the last sync is on the disk. */
STATE_TEST(test_write_behind_fails, setup, teardown)
{
	struct world *world = *state;
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	struct k2i_output_file *output;

	put_and_sync(world, 0, "a");
	file_lengthen(world);
	put_and_sync(world, 40, "b");
	output = write_told(world);
	while (k2i_syncer_wait(syncer, world->session.ring->rows[0].number))
		continue;
	assert_true(k2i_session_synced(&world->session));
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
	assert_int_equal(world->session.durable, 80);
	assert_int_equal(atomic_load(&world->counters.sync_errors), 1);
	assert_int_equal(atomic_load(&world->counters.disk_errors), 1);
	k2i_output_release(world->outputs, output);
}

/* The kernel tells nobody again what it has told a write. */
SESSION_TEST(test_write_behind_failed_of_a_file_that_was_closed)
{
	struct k2i_outputs *outputs = world->outputs;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	file_lengthen(world);
	put_data(world, 40, 0, 1, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	k2i_output_release(outputs, write_told(world));
	k2i_outputs_reopen(outputs);
	assert_int_equal(k2i_outputs_sync(outputs), -EIO);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
}

static atomic_bool disk_answers;

static void disk_await(void)
{
	while (!atomic_load(&disk_answers))
		(void)usleep(1000);
}

/* Comes again while a commit of its connection before is on its way to the disk, which will refuse it. */
static void greet_meanwhile(struct world *world)
{
	struct k2hft_hello hello = hello_make("ring", 1, 0);

	atomic_store(&disk_answers, false);
	(void)synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	sync_fails = disk_await;
	put_data(world, 0, 0, 1, "ab");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	session_again(world, 2);
	hello.level = K2HFT_LEVEL_SYNCED;
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.state, K2I_SESSION_GREETED);
	assert_int_equal(world->session.output_bytes, 0);
	assert_false(k2i_session_synced(&world->session));
}

static void disk_refuses(struct world *world)
{
	atomic_store(&disk_answers, true);
	while (k2i_syncer_rounds_failed(world->shared.syncer) == 0)
		(void)usleep(1000);
}

/* WELCOME would acknowledge what is not there; a later success does not change that. */
SESSION_TEST(test_no_welcome_for_what_is_lost)
{
	greet_meanwhile(world);
	disk_refuses(world);
	while (k2i_syncer_done(world->shared.syncer) < world->session.greeting.number) {
		k2i_syncer_want(world->shared.syncer);
		(void)usleep(1000);
	}
	assert_true(k2i_session_synced(&world->session));
	expect_error(world, K2HFT_ERROR_LIMIT);
}

SESSION_TEST(test_nothing_before_welcome)
{
	greet_meanwhile(world);
	put_ping(world);
	expect_refused(world, K2HFT_ERROR_PROTOCOL);
	disk_refuses(world);
}

static void lines_count(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)level;
	*(unsigned *)argument += strstr(text, "connected") != NULL;
}

/* A sender that gives up waiting was not connected, and breaks no rule. */
SESSION_TEST(test_leaves_before_welcome)
{
	const struct k2hft_error_message error = {.code = K2HFT_ERROR_LIMIT, .text = "no more time"};
	unsigned lines = 0;

	greet_meanwhile(world);
	k2hft_log_callback_set(lines_count, &lines, K2HFT_LOG_INFO);
	put_message(world, k2hft_error_encode(&error, input_end(world), input_room(world)));
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	assert_int_equal(world->session.output_bytes, 0);
	assert_int_equal(atomic_load(&world->counters.peer_errors), 1);
	assert_int_equal(atomic_load(&world->counters.protocol_errors), 0);
	k2i_session_end(&world->session);
	assert_int_equal(lines, 0);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	disk_refuses(world);
}

/* It has said HELLO, so it knows what an ERROR is. */
SESSION_TEST(test_malformed_before_welcome)
{
	greet_meanwhile(world);
	memset(input_end(world), 'x', K2HFT_FRAME_HEADER_BYTES);
	put_message(world, K2HFT_FRAME_HEADER_BYTES);
	expect_refused(world, K2HFT_ERROR_PROTOCOL);
	disk_refuses(world);
}

static struct world *replaced_world;
static struct k2i_output_file *replaced;

/* Its name leads to something else, which can't be opened. */
static void replace(void)
{
	struct k2i_outputs *outputs = replaced_world->outputs;
	char path[300], other[310];

	(void)snprintf(path, sizeof(path), "%s/file", replaced_world->base);
	(void)snprintf(other, sizeof(other), "%s.1", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	k2i_output_lock(replaced);
	assert_int_equal(k2i_output_prepare(outputs, replaced), -EISDIR);
	k2i_output_unlock(replaced);
}

/* A file that is closed while its sync fails does not make every sync from then on fail. */
STATE_TEST(test_sync_fails_of_a_closed_file, setup, teardown)
{
	struct world *world = *state;
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);

	replaced_world = world;
	assert_int_equal(k2i_output_acquire(world->outputs, "file", &replaced), 0);
	sync_fails = replace;
	put_data(world, 0, 0, 1, "ab");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	/* The round that fails can have begun before. */
	(void)k2i_syncer_wait(syncer, world->session.ring->rows[0].number);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), 0);
	assert_int_equal(atomic_load(&world->counters.sync_errors), 1);
	assert_true(k2i_session_synced(&world->session));
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
	assert_int_equal(world->session.durable, 0);
	k2i_output_release(world->outputs, replaced);
}

/* Somebody else was told of an error: of those who sync the file system only who had it open before is, too. */
#define OPEN_BEFORE O_NOATIME

static unsigned file_systems_synced;

int __real_syncfs(int descriptor);
int __wrap_syncfs(int descriptor);
int __wrap_syncfs(int descriptor)
{
	file_systems_synced++;
	errno = EIO;
	return fcntl(descriptor, F_GETFL) & OPEN_BEFORE ? -1 : __real_syncfs(descriptor);
}

SESSION_TEST(test_sync_fails_of_files_that_were_closed)
{
	struct k2i_outputs *outputs = world->outputs;

	assert_int_equal(fcntl(outputs->base, F_SETFL, OPEN_BEFORE), 0);
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	k2i_outputs_reopen(outputs);
	assert_int_equal(k2i_outputs_sync(outputs), -EIO);
	assert_int_equal(fcntl(outputs->base, F_SETFL, 0), 0);
	file_systems_synced = 0;
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(file_systems_synced, 1);
}

/* Records that can't be stored are acknowledged when they are on the disk, too, in the quarantine. */
SESSION_TEST(test_sync_fails_of_the_quarantine)
{
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);
	struct stat status;
	int descriptor;

	put_stream(world, 1, ".k2hft/file");
	put_data(world, 0, 0, 1, "a");
	for (descriptor = 3; descriptor < 64; descriptor++)
		if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode))
			assert_int_equal(fcntl(descriptor, F_SETFL, OPEN_BEFORE), 0);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 1);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), -EIO);
}

/* That no descriptor is left is no reason to have records sent again. */
SESSION_TEST(test_synced_without_descriptors)
{
	struct k2i_outputs *outputs = world->outputs;

	open_session(world);
	put_stream(world, 2, "below/file");
	put_stream(world, 3, ".k2hft/file");
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	k2i_outputs_reopen(outputs);
	put_data(world, 40, 0, 2, "b");
	put_data(world, 80, 0, 3, "c");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 1);
	descriptors_limit(3);
	file_systems_synced = 0;
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	/* That of the new file, and that of the closed one. */
	assert_int_equal(file_systems_synced, 2);
	assert_int_equal(k2i_quarantine_sync(world->destination.quarantine), 0);
	assert_int_equal(file_systems_synced, 3);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(k2i_quarantine_sync(world->destination.quarantine), 0);
	assert_int_equal(file_systems_synced, 3);
	assert_int_equal(k2i_ledger_sync(world->ledger), 0);
	descriptors_limit(RLIM_INFINITY);
}

/* Chunks before a chunk that can't be written now are acknowledged all the same. */
SESSION_TEST(test_synced_before_what_is_held)
{
	struct k2i_syncer *syncer = synced_open(world, 0, K2HFT_LEVEL_SYNCED, 0);

	put_and_sync(world, 0, "a");
	put_data(world, 40, 0, 1, "b");
	put_stream(world, 2, "other");
	put_data(world, 80, 0, 2, "c");
	/* No descriptor for another file. */
	descriptors_limit(3);
	assert_int_equal(take(world), K2I_SESSION_STALL);
	descriptors_limit(RLIM_INFINITY);
	assert_int_not_equal(world->session.syncing.first, 0);
	assert_int_equal(k2i_syncer_wait(syncer, world->session.ring->rows[0].number), 0);
	assert_true(k2i_session_synced(&world->session));
	expect_ack(world, 80, K2HFT_STATUS_FAILED);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.committed, 120);
}

#define NOBODY 65534u

/* A directory that may be written and not read can't be opened to be synced, which is no reason either. */
SESSION_TEST(test_synced_in_a_directory_that_may_not_be_read)
{
	bool root = geteuid() == 0;
	char path[300];

	open_session(world);
	put_stream(world, 2, "below/file");
	put_data(world, 0, 0, 2, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)snprintf(path, sizeof(path), "%s/below", world->base);
	assert_int_equal(chmod(path, 0300), 0);
	file_systems_synced = 0;
	/* Root may read everything. */
	assert_int_equal(root ? seteuid(NOBODY) : 0, 0);
	assert_int_equal(k2i_outputs_sync(world->outputs), 0);
	assert_int_equal(root ? seteuid(0) : 0, 0);
	assert_int_equal(file_systems_synced, 1);
	assert_int_equal(chmod(path, 0700), 0);
}
