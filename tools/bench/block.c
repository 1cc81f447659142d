/* SPDX-License-Identifier: MIT */
/* The file that the senders take their records from: made ones, or lines of a log again and again. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (8u * 1024 * 1024)
#define INPUT_BYTES_MAX (BLOCK_BYTES)

/* Digits that no two records of a block share, then letters that do not repeat either: nothing gains by sameness. */
static void record_make(char *record, uint64_t size, uint64_t number)
{
	uint64_t state = number * UINT64_C(0x9e3779b97f4a7c15) + 1, at;

	for (at = 0; at + 1 < size && at < 9; at++, number /= 10)
		record[size < 10 ? size - 2 - at : 8 - at] = (char)('0' + number % 10);
	for (; at + 1 < size; at++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		record[at] = (char)('a' + state % 26);
	}
	record[size - 1] = '\n';
}

static int records_write(struct bench_run *run, FILE *block)
{
	uint64_t count = BLOCK_BYTES / run->point.size, number;
	char *record = malloc((size_t)run->point.size);

	for (number = 0; record && number < count; number++) {
		record_make(record, run->point.size, number);
		(void)fwrite(record, (size_t)run->point.size, 1, block);
	}
	run->block_records = count;
	run->block_bytes = count * run->point.size;
	free(record);
	return record ? 0 : -ENOMEM;
}

static uint64_t ends_count(const char *text, size_t bytes)
{
	const char *end = text + bytes;
	uint64_t count = 0;

	for (; (text = memchr(text, '\n', (size_t)(end - text))); text++)
		count++;
	return count;
}

/* Whole lines only; as many laps as fill a block, so that a short file does not make short writes. */
static int lines_write(struct bench_run *run, FILE *block)
{
	FILE *input = fopen(run->options->input_file, "re");
	char *text = input ? malloc(INPUT_BYTES_MAX) : NULL, *end;
	size_t bytes = text ? fread(text, 1, INPUT_BYTES_MAX, input) : 0;
	int error = !text || ferror(input) ? -errno : 0;
	uint64_t records;

	end = bytes ? memrchr(text, '\n', bytes) : NULL;
	bytes = end ? (size_t)(end + 1 - text) : 0;
	if (bytes == 0 && error == 0)
		error = -ENODATA;
	records = bytes ? ends_count(text, bytes) : 0;
	run->block_bytes = run->block_records = 0;
	while (error == 0 && run->block_bytes + bytes <= BLOCK_BYTES) {
		(void)fwrite(text, bytes, 1, block);
		run->block_bytes += bytes;
		run->block_records += records;
	}
	free(text);
	if (input)
		(void)fclose(input);
	if (error)
		bench_error("%s: %s", run->options->input_file,
			    error == -ENODATA ? "has no line that ends" : strerror(-error));
	return error;
}

/* The block is written, not mapped: this process stays small, as what it forks counts its memory too. */
static int block_write(struct bench_run *run)
{
	char path[BENCH_PATH_ROOM];
	FILE *block;
	bool failed;
	int error;

	(void)snprintf(path, sizeof(path), "%s/block", run->work);
	block = fopen(path, "we");
	if (!block)
		return bench_failed(-1, "%s: %s", path, strerror(errno));
	error = run->point.input ? lines_write(run, block) : records_write(run, block);
	failed = ferror(block) != 0;
	if (fclose(block) == 0 && !failed && error == 0)
		run->block = open(path, O_RDONLY | O_CLOEXEC);
	else if (error == 0)
		bench_error("%s: %s", path, strerror(errno));
	return run->block < 0 ? -1 : 0;
}

int bench_block_make(struct bench_run *run)
{
	if (run->block >= 0 && run->block_point.size == run->point.size && run->block_point.input == run->point.input)
		return 0;
	if (run->block >= 0)
		(void)close(run->block);
	run->block = -1;
	if (block_write(run))
		return -1;
	run->block_point = run->point;
	return 0;
}
