/* SPDX-License-Identifier: MIT */
#ifndef LEDGER_FOLDER_H
#define LEDGER_FOLDER_H

/* A ledger in a temporary folder. For one test program, which includes cmocka.h and what it needs before. */
#include "../../receiver/ledger.h"
#include "../../receiver/ledger_log.h"
#include "file_help.h"

static const uint8_t boot_here[16] = "boot-here", boot_other[16] = "boot-other";

struct folder {
	char path[256], ledger[300], log[340];
};

static void path_join(char *path, size_t room, const char *folder, const char *name)
{
	assert_true((size_t)snprintf(path, room, "%s/%s", folder, name) < room);
}

static int setup(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	folder_make(folder->path, sizeof(folder->path));
	path_join(folder->ledger, sizeof(folder->ledger), folder->path, "state");
	path_join(folder->log, sizeof(folder->log), folder->ledger, "ledger");
	*state = folder;
	return 0;
}

static void remove_in(const char *folder, const char *name)
{
	char path[400];

	path_join(path, sizeof(path), folder, name);
	(void)unlink(path);
}

static int teardown(void **state)
{
	struct folder *folder = *state;

	remove_in(folder->ledger, "ledger");
	remove_in(folder->ledger, "ledger.new");
	remove_in(folder->ledger, "ledger.damaged");
	remove_in(folder->ledger, "lock");
	(void)rmdir(folder->ledger);
	assert_int_equal(rmdir(folder->path), 0);
	free(folder);
	return 0;
}

static struct k2i_ledger_ring ring_make(const char *name, uint64_t position)
{
	struct k2i_ledger_ring ring = {.epoch = 3, .position = position};

	memcpy(ring.uuid, name, strlen(name));
	return ring;
}

static struct k2i_ledger *open_begun(const struct folder *folder, struct k2i_ledger_report *report)
{
	struct k2i_ledger *ledger = NULL;

	assert_int_equal(k2i_ledger_open(folder->ledger, boot_here, &ledger, report), 0);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	return ledger;
}

static void commit(struct k2i_ledger *ledger, const char *name, uint64_t position)
{
	struct k2i_ledger_ring ring = ring_make(name, position);

	assert_int_equal(k2i_ledger_commit(ledger, &ring, NULL, 0), 0);
}

struct found_files {
	unsigned count;
	struct k2i_ledger_file last;
	char path[64];
};

static void file_take(void *argument, const struct k2i_ledger_file *file)
{
	struct found_files *found = argument;

	found->count++;
	found->last = *file;
	(void)snprintf(found->path, sizeof(found->path), "%s", file->path);
}

static size_t log_read(const struct folder *folder, uint8_t **bytes)
{
	struct stat status;
	int file = open(folder->log, O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0 && fstat(file, &status) == 0);
	*bytes = malloc((size_t)status.st_size);
	assert_non_null(*bytes);
	assert_int_equal(read(file, *bytes, (size_t)status.st_size), status.st_size);
	(void)close(file);
	return (size_t)status.st_size;
}

static void log_write(const struct folder *folder, const uint8_t *bytes, size_t byte_count)
{
	int file = open(folder->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, byte_count), byte_count);
	(void)close(file);
}

#endif
