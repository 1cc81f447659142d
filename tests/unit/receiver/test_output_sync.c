/* SPDX-License-Identifier: MIT */
/* Syncing of output files: data, names, and files that were closed or cut before anybody asked for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/sink/file/internal.h"
#include "session_world.h"

static atomic_uint cut_files_synced; /* that have one byte */

/* Named by the linker, as those that follow. */
int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor)
{
	struct stat status;

	cut_files_synced += fstat(descriptor, &status) == 0 && status.st_size == 1;
	return __real_fdatasync(descriptor);
}

static unsigned file_systems_synced, failing /* of them; 0: none */, all_synced;

int __real_syncfs(int descriptor);
int __wrap_syncfs(int descriptor);
int __wrap_syncfs(int descriptor)
{
	errno = EIO;
	return ++file_systems_synced == failing ? -1 : __real_syncfs(descriptor);
}

void __wrap_sync(void);
void __wrap_sync(void)
{
	all_synced++;
}

static ino_t directories_synced[8];
static atomic_size_t directory_count; /* several at once */

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor)
{
	struct stat status;
	size_t at = fstat(descriptor, &status) == 0 ? atomic_fetch_add(&directory_count, 1) : 8;

	if (at < 8)
		directories_synced[at] = status.st_ino;
	return __real_fsync(descriptor);
}

static bool no_memory;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return no_memory ? NULL : __real_malloc(bytes);
}

/* A round that fails makes records come again, and to want memory is no fault of the disk. */
SESSION_TEST(test_without_memory)
{
	int error;

	open_session(world);
	put_stream(world, 2, "other");
	put_data(world, 0, 0, 1, "a");
	put_data(world, 40, 0, 2, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	cut_files_synced = 0;
	no_memory = true;
	error = k2i_outputs_sync(world->outputs);
	no_memory = false;
	assert_int_equal(error, 0);
	assert_int_equal(cut_files_synced, 2);
}

/* Others can be mounted below the base directory: what was closed there is synced until it is on the disk, or is not there. */
SESSION_TEST(test_file_systems_below)
{
	struct k2i_outputs *outputs = world->outputs;
	char below[300], moved[310];

	open_session(world);
	put_stream(world, 2, "below/file");
	/* As if the base were on another one. */
	atomic_fetch_add(&outputs->base_device, 1);
	put_data(world, 0, 0, 2, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	k2i_outputs_reopen(outputs);
	file_systems_synced = all_synced = 0;
	failing = 2;
	assert_int_equal(k2i_outputs_sync(outputs), -EIO);
	failing = 0;
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(file_systems_synced, 4);
	put_data(world, 40, 0, 2, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	k2i_outputs_reopen(outputs);
	(void)snprintf(below, sizeof(below), "%s/below", world->base);
	(void)snprintf(moved, sizeof(moved), "%s.1", below);
	assert_int_equal(rename(below, moved), 0);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(all_synced, 1);
	k2i_output_unsynced(outputs, "file", outputs->base, atomic_load(&outputs->base_device) + 1);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(all_synced, 2);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(file_systems_synced, 6);
}

/* Files that were closed before the base directory became another one, which is on another disk. */
SESSION_TEST(test_file_system_of_a_former_base)
{
	struct k2i_outputs *outputs = world->outputs;
	char moved[310];

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	k2i_outputs_reopen(outputs);
	/* As if it were on another one than what follows. */
	atomic_fetch_add(&outputs->base_device, 1);
	(void)snprintf(moved, sizeof(moved), "%s.1", world->base);
	assert_int_equal(rename(world->base, moved), 0);
	assert_int_equal(mkdir(world->base, 0700), 0);
	k2i_outputs_tick(outputs, 0);
	file_systems_synced = all_synced = 0;
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(file_systems_synced, 1);
	assert_int_equal(all_synced, 1);
	assert_int_equal(k2i_outputs_sync(outputs), 0);
	assert_int_equal(all_synced, 1);
}

/* A file is not there without its name, and nor is that without the names above. */
SESSION_TEST(test_names_are_synced)
{
	static const char *const names[] = {"below/deep", "below", "."};
	struct stat status;
	char path[300];

	open_session(world);
	put_stream(world, 2, "below/deep/file");
	put_data(world, 0, 0, 2, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	directory_count = 0;
	assert_int_equal(k2i_outputs_sync(world->outputs), 0);
	assert_int_equal(directory_count, sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < directory_count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", world->base, names[i]);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(directories_synced[i], status.st_ino);
	}
}

/* Nobody knows what a receiver that was killed had brought to the disk; what is cut off must not be there again. */
SESSION_TEST(test_synced_after_a_kill)
{
	struct k2i_outputs_options options = {.open_max = 4,
					      .file_mode = 0600,
					      .killed = true,
					      .store = {.write_bytes = 65536},
					      .counters = &world->counters};
	struct k2i_outputs *outputs;
	char path[300];
	int file;

	(void)snprintf(path, sizeof(path), "%s/other", world->root);
	options.base_directory = path;
	assert_int_equal(k2i_outputs_create(&options, &outputs), 0);
	file_systems_synced = 0;
	cut_files_synced = 0;
	assert_int_equal(k2i_outputs_free(outputs, true), 0);
	assert_int_equal(file_systems_synced, 1);
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	world_close(world);
	(void)snprintf(path, sizeof(path), "%s/file", world->base);
	file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(file, "torn", 4), 4);
	(void)close(file);
	assert_int_equal(cut_files_synced, 0);
	world_open(world);
	session_open(world, 2);
	expect_file(world, "file", "a");
	assert_int_equal(cut_files_synced, 1);
	assert_int_equal(k2i_outputs_sync(world->outputs), 0);
	assert_int_equal(file_systems_synced, 2);
}
