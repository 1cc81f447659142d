/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/sink/file/internal.h"
#include "base/clock.h"
#include "file_help.h"

#define IDLE_NS UINT64_C(10000000000) /* after the last use */

static struct k2i_outputs *outputs;
static unsigned calls;

/* A disk can keep who calls these for as long as it likes; meanwhile others open their files. */
static void others_can_go_on(void)
{
	if (!outputs)
		return;
	assert_int_equal(pthread_mutex_trylock(&outputs->mutex), 0);
	(void)pthread_mutex_unlock(&outputs->mutex);
	calls++;
}

/* Named by the linker. */
int __real_close(int descriptor);
int __wrap_close(int descriptor);
int __wrap_close(int descriptor)
{
	others_can_go_on();
	return __real_close(descriptor);
}

int __real_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags);
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags);
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags)
{
	others_can_go_on();
	return __real_sync_file_range(descriptor, from, byte_count, flags);
}

static unsigned told;
static struct k2i_outputs *busy; /* one of its files is used whenever one is closed */
static unsigned uses;

#define USES_MAX 20000u

void __real_k2i_ledger_file_closed(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode);
void __wrap_k2i_ledger_file_closed(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode);
static void output_use(struct k2i_outputs *table, const char *path);

void __wrap_k2i_ledger_file_closed(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode)
{
	others_can_go_on();
	told++;
	if (busy && uses++ < USES_MAX)
		output_use(busy, uses % 2 ? "one" : "other");
	__real_k2i_ledger_file_closed(ledger, birth, inode);
}

/* Made, written and given back. */
static void output_use(struct k2i_outputs *table, const char *path)
{
	const struct k2i_store_options store = k2i_outputs_store(table);
	static struct k2i_store_writer writer;
	struct k2i_output_file *output;

	assert_int_equal(k2i_store_writer_start(&writer, &store), 0);
	assert_int_equal(k2i_output_acquire(table, path, &output), 0);
	k2i_output_lock(output);
	assert_int_equal(k2i_output_prepare(table, output), 0);
	k2i_store_writer_begin(&writer, output->descriptor);
	assert_int_equal(k2i_store_put(&writer, "a", 1), 0);
	assert_int_equal(k2i_store_flush(&writer), 0);
	k2i_output_written(table, output, &writer);
	k2i_output_unlock(output);
	k2i_output_release(table, output);
	k2i_store_writer_free(&writer);
}

/* State of the test that runs. */
static char base[256];
static struct k2i_ledger *ledger;
static struct k2i_outputs *made;

static void outputs_make(void)
{
	static struct k2i_counters counters;
	struct k2i_outputs_options options = {.base_directory = base,
					      .open_max = 2,
					      .file_mode = 0600,
					      .store = {.write_bytes = 4096},
					      .ledger = ledger,
					      .counters = &counters};

	atomic_store(&counters.files_open, 0);
	assert_int_equal(k2i_outputs_create(&options, &made), 0);
}

static int setup(void **state)
{
	(void)state;
	folder_make(base, sizeof(base));
	outputs_make();
	return 0;
}

static int setup_with_ledger(void **state)
{
	const uint8_t boot_id[16] = "here";
	struct k2i_ledger_report report;
	char path[300];

	(void)state;
	folder_make(base, sizeof(base));
	(void)snprintf(path, sizeof(path), "%s/.k2hft", base);
	assert_int_equal(k2i_ledger_open(path, boot_id, &ledger, &report), 0);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	outputs_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	outputs = NULL;
	assert_int_equal(k2i_outputs_free(made, false), 0);
	k2i_ledger_close(ledger, false);
	ledger = NULL;
	folder_remove(base);
	return 0;
}

/* Those that have not been used for long, with SIGHUP, and to make room for another. */
FIXTURE_TEST(files_are_closed_without_the_tables_lock, void *fixture, setup, teardown)
{
	outputs = made;
	output_use(outputs, "first");
	output_use(outputs, "second");
	calls = 0;
	output_use(outputs, "third");
	assert_int_equal(calls, 2);
	assert_int_equal(atomic_load(&outputs->counters->files_open), 2);
	k2i_outputs_reopen(outputs);
	assert_int_equal(calls, 6);
	output_use(outputs, "first");
	calls = 0;
	k2i_outputs_tick(outputs, UINT64_MAX);
	assert_int_equal(calls, 3); /* the tick looks at the directory, too */
	assert_int_equal(atomic_load(&outputs->counters->files_open), 0);
}

#define CASE(name) FIXTURE_TEST(name, void *fixture, setup_with_ledger, teardown)

/* The ledger can be waiting for the disk, too: it is being written anew. */
CASE(the_ledger_is_told_without_the_tables_lock)
{
	outputs = made;
	output_use(outputs, "first");
	output_use(outputs, "second");
	output_use(outputs, "third");
	assert_int_equal(told, 1);
	k2i_outputs_reopen(outputs);
	assert_int_equal(told, 3);
}

/* A file that is opened again meanwhile is not closed again. */
CASE(senders_that_are_busy_do_not_keep_it)
{
	output_use(made, "third");
	busy = made;
	k2i_outputs_reopen(made);
	busy = NULL;
	assert_in_range(uses, 1, USES_MAX - 1);
}

/* A removed file gives its room back, however often others want to be synced. */
FIXTURE_TEST(a_sync_is_no_use, void *fixture, setup, teardown)
{
	uint64_t used_ns;

	output_use(made, "idle");
	assert_int_equal(k2i_outputs_sync(made), 0);
	used_ns = k2i_clock_ns(CLOCK_MONOTONIC_COARSE);
	while (k2i_clock_ns(CLOCK_MONOTONIC_COARSE) == used_ns)
		continue;
	output_use(made, "busy");
	assert_int_equal(k2i_outputs_sync(made), 0);
	assert_int_equal(atomic_load(&made->counters->files_open), 2);
	k2i_outputs_tick(made, used_ns + IDLE_NS);
	assert_int_equal(atomic_load(&made->counters->files_open), 1);
}

/* A record goes on in it, but the next one comes to another. */
static void output_leave(struct k2i_outputs *table, const char *path)
{
	struct k2i_output_file *output;

	assert_int_equal(k2i_output_acquire(table, path, &output), 0);
	assert_int_equal(k2i_output_prepare(table, output), 0);
	output->open_writer = 1;
	assert_int_equal(k2i_output_tell(table, output, false), 0);
	k2i_output_release(table, output);
}

static uint64_t open_writer(struct k2i_outputs *table, const char *path)
{
	struct k2i_output_file *output;
	uint64_t writer;

	assert_int_equal(k2i_output_acquire(table, path, &output), 0);
	writer = output->open_writer;
	k2i_output_release(table, output);
	return writer;
}

static void file_count(void *argument, const struct k2i_ledger_file *file)
{
	unsigned *count = argument;

	*count += file->open_writer == 1;
}

/* FILE_UNIFY of each minute for years: of the last thousand it is known that a record goes on in them, in the ledger, too. */
CASE(not_everything_is_kept)
{
	char name[16] = "";
	unsigned number, files_count = 0;

	for (number = 0; number < K2I_OUTPUTS_KEPT_MAX + 10; number++) {
		(void)snprintf(name, sizeof(name), "%u", number);
		output_leave(made, name);
	}
	outputs = made;
	k2i_outputs_tick(made, UINT64_MAX);
	outputs = NULL;
	assert_int_equal(atomic_load(&made->counters->files_open), 0);
	assert_int_equal(made->table.count, K2I_OUTPUTS_KEPT_MAX);
	k2i_ledger_files(ledger, file_count, &files_count);
	assert_int_equal(files_count, K2I_OUTPUTS_KEPT_MAX);
	assert_int_equal(open_writer(made, name), 1);
	assert_int_equal(open_writer(made, "10"), 1);
	assert_int_equal(open_writer(made, "9"), 0);
}
