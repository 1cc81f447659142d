/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "tools/base/arguments.h"
#include "tools/base/numbers.h"
#include "tools/verify/verify.h"
#include "tools/verify/record.h"

#define COUNT_DEFAULT 100000u
#define SIZE_DEFAULT 100u
#define LIMIT_DEFAULT 20u
#define TIMEOUT_S_DEFAULT 30u
#define TIMEOUT_S_MAX 86400u
#define SECONDS_MAX (UINT64_C(10) * 365 * 86400)
#define RATE_MAX UINT64_C(1000000000)
#define BYTES_MAX (UINT64_MAX / 2)
#define SIZE_NEEDED "one or two lengths are needed, as 100 or 10-64K, from 10 to 64M bytes"
#define RUN_NEEDED "6 hexadecimal digits are needed, or - for records without run"
_Static_assert(VERIFY_COMPACT_BYTES_MIN == 10 && VERIFY_RECORD_BYTES_MAX == 64u << 20, "SIZE_NEEDED says so");

enum { MAKE = 1, READ = 2 };

static const char *const order_names[] = {"all", "file", "none", NULL};

/* PRODUCER=COUNT */
static int expectation_take(void *of, const char *text)
{
	struct verify_options *options = of;
	struct verify_expectation *expected =
		reallocarray(options->expected, (size_t)options->expected_count + 1, sizeof(*expected));
	const char *equals = strchr(text, '=');
	char producer[24] = "";

	if (!expected)
		return -ENOMEM;
	options->expected = expected;
	expected += options->expected_count;
	if (equals && (size_t)(equals - text) < sizeof(producer))
		memcpy(producer, text, (size_t)(equals - text));
	if (!equals || number_parse(producer, 1, VERIFY_PRODUCER_MAX, &expected->producer) ||
	    number_parse(equals + 1, 0, VERIFY_COUNTER_MAX, &expected->count))
		return -EINVAL;
	options->expected_count++;
	return 0;
}

static int retracted_take(void *of, const char *text)
{
	struct verify_options *options = of;
	char **lists = reallocarray(options->retracted, options->retracted_count + 2, sizeof(*lists));

	if (!lists)
		return -ENOMEM;
	options->retracted = lists;
	lists[options->retracted_count++] = (char *)(uintptr_t)text;
	lists[options->retracted_count] = NULL;
	return 0;
}

/* NAME=VALUE */
static int kafka_option_take(void *of, const char *text)
{
	struct verify_options *options = of;
	const char *before = options->kafka_options ? options->kafka_options : "";
	char *lines;

	if (!strchr(text, '=') || strchr(text, '\n'))
		return -EINVAL;
	if (asprintf(&lines, "%s%s\n", before, text) < 0)
		return -ENOMEM;
	free(options->kafka_options);
	options->kafka_options = lines;
	return 0;
}

#define AT(field) .at = offsetof(struct verify_options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("allow-missing-tail", 0, FLAG, READ, AT(allow_missing_tail)),
	COMMAND_OPTION("append", 0, FLAG, MAKE, AT(append)),
	COMMAND_OPTION("append-each", 0, FLAG, MAKE, AT(append_each)),
	COMMAND_OPTION("attach", 0, TEXT, MAKE, AT(attach)),
	COMMAND_OPTION("bytes", 0, SIZE, MAKE, AT(bytes), OPTION_RANGE(1, BYTES_MAX)),
	COMMAND_OPTION("config", 'c', TEXT, MAKE, AT(config)),
	COMMAND_OPTION("count", 'n', NUMBER, MAKE, AT(count), OPTION_RANGE(1, VERIFY_COUNTER_MAX)),
	COMMAND_OPTION("expect", 0, CALL, READ, .needed = "PRODUCER=COUNT is needed", .take = expectation_take),
	COMMAND_OPTION("expect-all", 0, NUMBER, READ, AT(expected_all), OPTION_RANGE(0, VERIFY_COUNTER_MAX)),
	COMMAND_OPTION("first", 0, NUMBER, MAKE | READ, AT(first), OPTION_RANGE(1, VERIFY_COUNTER_MAX)),
	COMMAND_OPTION("help", 'h', HELP, MAKE | READ, AT(help)),
	COMMAND_OPTION("inside", 0, FLAG, READ, AT(inside)),
	COMMAND_OPTION("json", 0, FLAG, MAKE | READ, AT(json)),
	COMMAND_OPTION("kafka", 0, TEXT, READ, AT(brokers), .needed = "brokers are needed, as HOST:PORT"),
	COMMAND_OPTION("kafka-option", 0, CALL, READ, .needed = "NAME=VALUE is needed", .take = kafka_option_take),
	COMMAND_OPTION("limit", 0, NUMBER, READ, AT(limit), OPTION_RANGE(0, UINT32_MAX)),
	COMMAND_OPTION("make", 0, FLAG, MAKE | READ, AT(make)),
	COMMAND_OPTION("only", 0, FLAG, READ, AT(only)),
	COMMAND_OPTION("order", 0, WORD, READ, AT(order), OPTION_WORDS(order_names, "all, file or none is needed")),
	COMMAND_OPTION("prefix", 0, FLAG, READ, AT(prefix)),
	COMMAND_OPTION("producer", 0, NUMBER, MAKE, AT(producer), OPTION_RANGE(1, VERIFY_PRODUCER_MAX)),
	COMMAND_OPTION("producers", 0, NUMBER, MAKE | READ, AT(producers), OPTION_RANGE(1, VERIFY_PRODUCER_MAX)),
	COMMAND_OPTION("quiet", 'q', FLAG, MAKE | READ, AT(quiet)),
	COMMAND_OPTION("rate", 0, NUMBER, MAKE, AT(rate), OPTION_RANGE(1, RATE_MAX)),
	COMMAND_OPTION("receiver", 'r', TEXT, MAKE, AT(receiver), .needed = RECEIVER_NEEDED),
	COMMAND_OPTION("reopen", 0, FLAG, MAKE, AT(reopen)),
	COMMAND_OPTION("retracted", 0, CALL, READ, .needed = "a file is needed", .take = retracted_take),
	COMMAND_OPTION("ring", 0, TEXT, MAKE, AT(ring_path)),
	COMMAND_OPTION("run", 0, TEXT, READ, AT(run_text), .needed = RUN_NEEDED),
	COMMAND_OPTION("seconds", 0, NUMBER, MAKE, AT(seconds), OPTION_RANGE(1, SECONDS_MAX)),
	COMMAND_OPTION("seed", 0, NUMBER, MAKE, AT(seed), OPTION_RANGE(0, UINT64_MAX)),
	COMMAND_OPTION("shared", 0, FLAG, MAKE, AT(shared)),
	COMMAND_OPTION("size", 0, TEXT, MAKE, AT(size_text), .needed = SIZE_NEEDED),
	COMMAND_OPTION("stream", 't', TEXT, MAKE, AT(stream), .needed = "a path is needed"),
	COMMAND_OPTION("sync", 0, FLAG, MAKE, AT(sync)),
	COMMAND_OPTION("table", 0, FLAG, MAKE | READ, AT(table)),
	COMMAND_OPTION("timeout", 0, NUMBER, MAKE, AT(timeout_s), OPTION_RANGE(0, TIMEOUT_S_MAX)),
	COMMAND_OPTION("write-bytes", 0, SIZE, MAKE, AT(write_bytes), OPTION_RANGE(1, VERIFY_RECORD_BYTES_MAX)),
};
#undef AT
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static int usage_error(void)
{
	command_help_hint("verify");
	return STATUS_WRONG;
}

/* An option of the job that is not done; NULL: there is none. */
static const char *alien_find(unsigned job, uint64_t given)
{
	for (size_t at = 0; at < SETTINGS; at++)
		if ((given >> at & 1) && !(settings[at].jobs & job))
			return settings[at].name;
	return NULL;
}

static int size_check(struct verify_options *options)
{
	char minimum[32] = "";
	const char *text = options->size_text, *dash;

	if (!text)
		return STATUS_OK;
	dash = strchr(text, '-');
	if (dash && (size_t)(dash - text) < sizeof(minimum))
		memcpy(minimum, text, (size_t)(dash - text));
	if (size_parse(dash ? minimum : text, VERIFY_COMPACT_BYTES_MIN, VERIFY_RECORD_BYTES_MAX, &options->size_min) ||
	    size_parse(dash ? dash + 1 : text, options->size_min, VERIFY_RECORD_BYTES_MAX, &options->size_max))
		return verify_failed(STATUS_WRONG, "--size %s: " SIZE_NEEDED, text);
	return STATUS_OK;
}

/* Whether the form of the records has numbers for so many producers and records. */
static int range_check(const struct verify_options *options)
{
	bool compact = options->size_min < VERIFY_RECORD_BYTES_MIN;
	uint64_t producer_max = compact ? VERIFY_COMPACT_PRODUCER_MAX : VERIFY_PRODUCER_MAX;
	uint64_t counter_max = compact ? VERIFY_COMPACT_COUNTER_MAX : VERIFY_COUNTER_MAX;
	const char *where = compact ? " in records of less than 24 bytes" : "";

	if (options->producer + options->producers - 1 > producer_max)
		return verify_failed(STATUS_WRONG, "producers are numbered 1 to %" PRIu64 "%s", producer_max, where);
	if (options->first > counter_max || (options->count && options->count - 1 > counter_max - options->first))
		return verify_failed(STATUS_WRONG, "records are numbered 1 to %" PRIu64 "%s", counter_max, where);
	return STATUS_OK;
}

static const char *make_conflict(const struct verify_options *options)
{
	bool library = options->receiver || options->config || options->attach;

	if (!!options->receiver + !!options->config + !!options->attach > 1)
		return "one of -r, -c and --attach is enough";
	if (library != !!options->stream)
		return "a receiver and -t go together";
	if (options->stream && k2hft_stream_path_check(options->stream, strlen(options->stream)))
		return "-t: a stream's name is a relative path without empty, \".\" and \"..\" parts";
	if (library && (options->append || options->append_each || options->reopen || options->sync))
		return "--append, --append-each, --reopen and --sync are about files";
	if (options->ring_path && (!library || options->attach))
		return "--ring goes with -r or -c";
	if (options->write_bytes && (options->append_each || options->reopen || options->shared))
		return "--write-bytes tears records: not with --append-each, --reopen or --shared";
	if (library == !!*options->files || (*options->files && options->files[1]))
		return library ? "a stream is named by -t, not by a file" : "one file to write to is needed";
	return NULL;
}

static int make_check(struct verify_options *options)
{
	const char *conflict = make_conflict(options);
	int status;

	if (conflict) {
		verify_error("%s", conflict);
		return usage_error();
	}
	options->path = options->stream ? options->stream : *options->files;
	if (!options->producers)
		options->producers = 1;
	if (!options->count && !options->bytes && !options->seconds)
		options->count = COUNT_DEFAULT;
	status = size_check(options);
	return status ? status : range_check(options);
}

static int read_check(struct verify_options *options)
{
	const uint64_t most = VERIFY_COUNTER_MAX - options->first + 1;
	bool above = options->expected_all != VERIFY_ANY_NUMBER && options->expected_all > most;

	if (!*options->files) {
		verify_error(options->brokers ? "a topic is needed" : "a file is needed");
		return usage_error();
	}
	if (options->brokers ? options->retracted != NULL : options->kafka_options != NULL)
		return verify_failed(STATUS_WRONG, options->brokers ? "--retracted is for files"
								    : "--kafka-option goes with --kafka");
	if (options->run_text && verify_run_parse(options->run_text, &options->run))
		return verify_failed(STATUS_WRONG, "--run %s: " RUN_NEEDED, options->run_text);
	for (size_t at = 0; at < options->expected_count; at++)
		above |= options->expected[at].count > most;
	if (above)
		return verify_failed(STATUS_WRONG, "records are numbered 1 to %" PRIu64, VERIFY_COUNTER_MAX);
	return STATUS_OK;
}

int verify_options_parse(struct verify_options *options, const char *help, int argc, char **argv)
{
	const struct command_options known = {"verify", help, settings, SETTINGS};
	const char *alien;
	uint64_t given;
	int status;

	*options = (struct verify_options){.first = 1,
					   .expected_all = VERIFY_ANY_NUMBER,
					   .limit = LIMIT_DEFAULT,
					   .producer = 1,
					   .size_min = SIZE_DEFAULT,
					   .size_max = SIZE_DEFAULT,
					   .timeout_s = TIMEOUT_S_DEFAULT};
	if (getrandom(&options->seed, sizeof(options->seed), 0) != (ssize_t)sizeof(options->seed))
		return verify_failed(STATUS_FAILED, "getrandom: %s", strerror(errno));
	status = command_options_take(&known, options, argc, argv, &given);
	if (status || options->help)
		return status;
	alien = alien_find(options->make ? MAKE : READ, given);
	if (alien)
		verify_error("--%s is %s --make", alien, options->make ? "not for" : "for");
	else if (options->json && options->table)
		verify_error("--json or --table, not both");
	if (alien || (options->json && options->table))
		return usage_error();
	options->files = argv + optind;
	return options->make ? make_check(options) : read_check(options);
}
