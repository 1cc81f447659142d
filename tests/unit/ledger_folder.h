/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_LEDGER_FOLDER_H
#define K2I_TESTS_UNIT_LEDGER_FOLDER_H

/* A ledger in a temporary folder. For one test program, which includes cmocka.h and what it needs before. */
#include "receiver/ledger/ledger.h"
#include "receiver/ledger/log.h"
#include "file_help.h"

static const uint8_t boot_here[16] = "boot-here", boot_other[16] = "boot-other";

/* State of the test that runs. */
static struct {
	char path[256], ledger[300], log[340];
} folder;
static struct k2i_ledger *ledger;
static struct k2i_ledger_report report;
static struct found_files {
	unsigned count;
	struct k2i_ledger_file last;
	char path[64];
} found;

static void file_take(void *argument, const struct k2i_ledger_file *file)
{
	(void)argument;
	found.count++;
	found.last = *file;
	(void)snprintf(found.path, sizeof(found.path), "%s", file->path);
}

static void files_find(void)
{
	memset(&found, 0, sizeof(found));
	k2i_ledger_files(ledger, file_take, NULL);
}

static void ledger_close(bool clean)
{
	k2i_ledger_close(ledger, clean);
	ledger = NULL;
}

/* As the next process does; if nothing was closed, after the death of one, or, with another boot, after a power cut. */
static void open_after(const uint8_t boot[16])
{
	ledger_close(false);
	assert_int_equal(k2i_ledger_open(folder.ledger, boot, &ledger, &report), 0);
	files_find();
}

static void ledger_begin(void)
{
	assert_int_equal(k2i_ledger_begin(ledger), 0);
}

static void open_begun(void)
{
	open_after(boot_here);
	ledger_begin();
}

static int setup(void **state)
{
	(void)state;
	folder_make(folder.path, sizeof(folder.path));
	path_in(folder.ledger, sizeof(folder.ledger), folder.path, "state");
	path_in(folder.log, sizeof(folder.log), folder.ledger, "ledger");
	open_begun();
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"ledger", "ledger.new", "ledger.damaged", "lock"};
	char path[400];

	(void)state;
	ledger_close(false);
	for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
		path_in(path, sizeof(path), folder.ledger, names[at]);
		(void)unlink(path);
	}
	(void)rmdir(folder.ledger);
	/* Nothing else was made in it. */
	assert_int_equal(rmdir(folder.path), 0);
	return 0;
}

static struct k2i_ledger_ring ring_make(const char *name, uint64_t position)
{
	struct k2i_ledger_ring ring = {.epoch = 3, .position = position};

	memcpy(ring.uuid, name, strlen(name));
	return ring;
}

static void commit(const char *name, uint64_t position)
{
	struct k2i_ledger_ring ring = ring_make(name, position);

	assert_int_equal(k2i_ledger_commit(ledger, &ring, NULL, 0), 0);
}

static size_t log_read(uint8_t **bytes)
{
	struct stat status;
	int file = open(folder.log, O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0 && fstat(file, &status) == 0);
	*bytes = malloc((size_t)status.st_size);
	assert_non_null(*bytes);
	assert_int_equal(read(file, *bytes, (size_t)status.st_size), status.st_size);
	(void)close(file);
	return (size_t)status.st_size;
}

static void log_write(const uint8_t *bytes, size_t byte_count)
{
	int file = open(folder.log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, byte_count), byte_count);
	(void)close(file);
}

#define LEDGER_TEST(name) FIXTURE_TEST(name, void *fixture, setup, teardown)

#endif
