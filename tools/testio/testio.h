/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_TESTIO_TESTIO_H
#define K2I_TOOLS_TESTIO_TESTIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/base/arguments.h"
#include "tools/base/errors.h"
#include "app/store/store.h"

/* `k2hft testio`: how fast files are written and read, over buffer sizes and threads, by the receiver's own code. */

#define TESTIO_THREADS_MAX 64u
#define TESTIO_RUNS_MAX 1000u
#define TESTIO_FILE_NAME "test.io"
#define TESTIO_PATH_ROOM 4096u

enum testio_way { TESTIO_WRITE, TESTIO_READ, TESTIO_WAYS };

struct testio_options {
	const char *directory;
	uint64_t file_mb; /* 1,000,000 bytes each */
	uint64_t limit_s, runs, files;
	struct number_list buffers_kb; /* 1,024 bytes each */
	struct number_list threads;
	uint64_t direct, mode, cache, way; /* places of words, of which several mean the same */
	struct k2i_store_options store;    /* made of these, without write_bytes */
	bool ways[TESTIO_WAYS];
	bool help, quiet, ask, ask_all;
	const char *tsv, *json; /* files; NULL: none */
	char *answer;           /* memory of a directory that was typed */
};

/* STATUS_OK, also if it was help; or STATUS_WRONG with the message. */
int testio_options_parse(int argc, char **argv, struct testio_options *options);
/* Asks, with what is set as the default; an answer that is none is asked for again. */
int testio_options_ask(struct testio_options *options, FILE *input, FILE *output);
/* Why no file can be made there; NULL: it seems that one can. */
const char *testio_directory_wrong(const char *directory);

/* A run of a cell. */
struct testio_cell {
	const struct testio_options *options;
	size_t write_bytes;
	unsigned threads, files;
	uint64_t number, count; /* of all runs, for the progress */
};

/* Files that have no name any more, and how far each thread's share of them was written. */
struct testio_files {
	int descriptors[TESTIO_THREADS_MAX];
	unsigned count, threads; /* 0: none */
	uint64_t written_to[TESTIO_THREADS_MAX];
};

/*
 * MB/s of one run. Writing makes new files, reading reads those of the last writing with as many threads. -EINTR: a signal
 * ended it; others: an error that was printed.
 */
int testio_run(const struct testio_cell *cell, enum testio_way way, struct testio_files *files, double *rate);
void testio_files_close(struct testio_files *files);
/* The signal that asked to end; 0: none. */
int testio_signal(void);
int testio_signals_catch(void);

struct testio_results {
	/* Means, by buffer size and threads; negative: not measured. */
	double rates[TESTIO_WAYS][NUMBER_LIST_MAX][NUMBER_LIST_MAX];
};

/* Whether any cell was. */
bool testio_measured(const struct testio_options *options, const struct testio_results *results);
void testio_header_print(const struct testio_options *options, FILE *output);
void testio_table_print(const struct testio_options *options, const struct testio_results *results, enum testio_way way,
			FILE *output);
/* The fastest cell and the lines that set it. */
void testio_advice_print(const struct testio_options *options, const struct testio_results *results, FILE *output);
/* Before anything is measured: whether the files that are asked for can be written. 0, or -errno of one, printed. */
int testio_files_check(const struct testio_options *options);
/* To the files that are asked for. 0, or -errno of one, printed. */
int testio_files_write(const struct testio_options *options, const struct testio_results *results);

#define testio_error(...) command_error("testio", __VA_ARGS__)
#define testio_failed(status, ...) command_failed(status, "testio", __VA_ARGS__)

#endif
