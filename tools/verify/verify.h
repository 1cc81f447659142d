/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_VERIFY_H
#define K2I_TOOLS_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/base/errors.h"

struct verify_expectation {
	uint64_t producer, count;
};

/* As k2hft-verify(1) has them. */
struct verify_options {
	bool help, make, json, table, quiet;
	uint64_t first;
	uint64_t producers; /* 0: not said; not 0 with make */

	/* reading */
	char **files;     /* NULL behind the last */
	char **retracted; /* lists of ranges that do not count; the same, or NULL */
	size_t retracted_count;
	struct verify_expectation *expected;
	uint64_t expected_count;
	uint64_t expected_all; /* VERIFY_ANY_NUMBER: not said */
	bool allow_missing_tail, only, prefix, inside;
	uint64_t order;       /* VERIFY_ORDER_* */
	const char *run_text; /* NULL: any run */
	uint32_t run;
	uint64_t limit;
	const char *brokers; /* `files` are topics there; NULL: they are files */
	char *kafka_options; /* of librdkafka: a line NAME=VALUE each; NULL: none */

	/* making */
	const char *path;               /* of a file or a stream */
	uint64_t count, bytes, seconds; /* 0: no limit by it */
	uint64_t rate;                  /* 0: as fast as it goes */
	uint64_t producer;
	const char *size_text;
	uint64_t size_min, size_max;
	uint64_t write_bytes; /* 0: whole records */
	uint64_t seed;
	bool append, append_each, reopen, shared, sync;
	const char *receiver, *config, *attach; /* one of them: through the library */
	const char *stream, *ring_path;
	uint64_t timeout_s;
};
#define VERIFY_ANY_NUMBER UINT64_MAX
/* Where records come in order: in all files as one, in each file, nowhere. */
enum { VERIFY_ORDER_ALL, VERIFY_ORDER_FILE, VERIFY_ORDER_NONE };

/* options.c: STATUS_OK, or STATUS_WRONG or STATUS_FAILED with the message. `expected`, `retracted` and `kafka_options` are the caller's to free. */
int verify_options_parse(struct verify_options *options, const char *help, int argc, char **argv);

/* make.c, read.c: exit status, with the message. */
int verify_make(const struct verify_options *options);
int verify_read(const struct verify_options *options);

#define verify_error(...) command_error("verify", __VA_ARGS__)
#define verify_failed(status, ...) command_failed(status, "verify", __VA_ARGS__)

#endif
