/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <k2hft/frame.h>

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

enum type { FLAG, NUMBER, BYTES, TEXT, ONCE, EXPECTATION };
enum job { BOTH, MAKE, READ };

static const struct setting {
	const char *name;
	int letter; /* or 0 */
	enum type type;
	enum job job;
	size_t at; /* in struct verify_options */
	uint64_t minimum, maximum;
} settings[] = {
#define AT(field) offsetof(struct verify_options, field)
	{"allow-missing-tail", 0, FLAG, READ, AT(allow_missing_tail), 0, 0},
	{"append", 0, FLAG, MAKE, AT(append), 0, 0},
	{"append-each", 0, FLAG, MAKE, AT(append_each), 0, 0},
	{"attach", 0, ONCE, MAKE, AT(attach), 0, 0},
	{"bytes", 0, BYTES, MAKE, AT(bytes), 1, BYTES_MAX},
	{"config", 'c', ONCE, MAKE, AT(config), 0, 0},
	{"count", 'n', NUMBER, MAKE, AT(count), 1, VERIFY_COUNTER_MAX},
	{"expect", 0, EXPECTATION, READ, 0, 0, 0},
	{"expect-all", 0, NUMBER, READ, AT(expected_all), 0, VERIFY_COUNTER_MAX},
	{"first", 0, NUMBER, BOTH, AT(first), 1, VERIFY_COUNTER_MAX},
	{"help", 'h', FLAG, BOTH, AT(help), 0, 0},
	{"json", 0, FLAG, BOTH, AT(json), 0, 0},
	{"limit", 0, NUMBER, READ, AT(limit), 0, UINT32_MAX},
	{"make", 0, FLAG, BOTH, AT(make), 0, 0},
	{"only", 0, FLAG, READ, AT(only), 0, 0},
	{"prefix", 0, FLAG, READ, AT(prefix), 0, 0},
	{"producer", 0, NUMBER, MAKE, AT(producer), 1, VERIFY_PRODUCER_MAX},
	{"producers", 0, NUMBER, BOTH, AT(producers), 1, VERIFY_PRODUCER_MAX},
	{"quiet", 'q', FLAG, BOTH, AT(quiet), 0, 0},
	{"rate", 0, NUMBER, MAKE, AT(rate), 1, RATE_MAX},
	{"receiver", 'r', ONCE, MAKE, AT(receiver), 0, 0},
	{"reopen", 0, FLAG, MAKE, AT(reopen), 0, 0},
	{"ring", 0, TEXT, MAKE, AT(ring_path), 0, 0},
	{"run", 0, ONCE, READ, AT(run_text), 0, 0},
	{"seconds", 0, NUMBER, MAKE, AT(seconds), 1, SECONDS_MAX},
	{"seed", 0, NUMBER, MAKE, AT(seed), 0, UINT64_MAX},
	{"shared", 0, FLAG, MAKE, AT(shared), 0, 0},
	{"size", 0, TEXT, MAKE, AT(size_text), 0, 0},
	{"stream", 't', ONCE, MAKE, AT(stream), 0, 0},
	{"sync", 0, FLAG, MAKE, AT(sync), 0, 0},
	{"table", 0, FLAG, BOTH, AT(table), 0, 0},
	{"timeout", 0, NUMBER, MAKE, AT(timeout_s), 0, TIMEOUT_S_MAX},
	{"write-bytes", 0, BYTES, MAKE, AT(write_bytes), 1, VERIFY_RECORD_BYTES_MAX},
#undef AT
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
#define FIRST_LONG 256

static int usage_error(void)
{
	command_help_hint("verify");
	return STATUS_WRONG;
}

/* PRODUCER=COUNT */
static int expectation_take(struct verify_options *options, const char *text)
{
	struct verify_expectation *expected =
		reallocarray(options->expected, (size_t)options->expected_count + 1, sizeof(*expected));
	const char *equals = strchr(text, '=');
	char producer[24] = "";

	if (!expected)
		return verify_failed(STATUS_FAILED, "%s", strerror(ENOMEM));
	options->expected = expected;
	expected += options->expected_count;
	if (equals && (size_t)(equals - text) < sizeof(producer))
		memcpy(producer, text, (size_t)(equals - text));
	if (!equals || number_parse(producer, 1, VERIFY_PRODUCER_MAX, &expected->producer) ||
	    number_parse(equals + 1, 0, VERIFY_COUNTER_MAX, &expected->count))
		return verify_failed(STATUS_WRONG, "--expect %s: PRODUCER=COUNT is needed", text);
	options->expected_count++;
	return STATUS_OK;
}

static int setting_take(struct verify_options *options, const struct setting *setting, const char *text)
{
	void *field = (char *)options + setting->at;

	switch (setting->type) {
	case FLAG:
		*(bool *)field = true;
		return STATUS_OK;
	case EXPECTATION:
		return expectation_take(options, text);
	case TEXT:
		break;
	case ONCE: /* of a second one nothing would be seen */
		if (*(const char **)field)
			return verify_failed(STATUS_WRONG, "--%s %s: %s was given before", setting->name, text,
					     *(const char **)field);
		break;
	default:
		if ((setting->type == BYTES ? size_parse : number_parse)(text, setting->minimum, setting->maximum,
									 field) == 0)
			return STATUS_OK;
		return verify_failed(STATUS_WRONG, "--%s %s: a number from %" PRIu64 " to %" PRIu64 " is needed",
				     setting->name, text, setting->minimum, setting->maximum);
	}
	*(const char **)field = text;
	return STATUS_OK;
}

static const struct setting *setting_of(int option)
{
	for (size_t at = 0; at < SETTINGS; at++)
		if (settings[at].letter == option || option == FIRST_LONG + (int)at)
			return settings + at;
	return NULL;
}

/* `*alien` becomes an option of the job that is not done. */
static int settings_take(struct verify_options *options, int argc, char **argv, const char **alien)
{
	struct option long_options[SETTINGS + 1] = {0};
	const char *of_make = NULL, *of_read = NULL;
	int option, status = STATUS_OK;

	for (size_t at = 0; at < SETTINGS; at++)
		long_options[at] =
			(struct option){.name = settings[at].name,
					.has_arg = settings[at].type == FLAG ? no_argument : required_argument,
					.val = FIRST_LONG + (int)at};
	while (status == STATUS_OK && (option = getopt_long(argc, argv, "n:r:c:t:qh", long_options, NULL)) != -1) {
		const struct setting *setting = setting_of(option);

		if (!setting) /* getopt has said what is wrong */
			return usage_error();
		if (setting->job == MAKE)
			of_make = setting->name;
		if (setting->job == READ)
			of_read = setting->name;
		status = setting_take(options, setting, optarg);
	}
	*alien = options->make ? of_read : of_make;
	return status;
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
		return verify_failed(STATUS_WRONG,
				     "--size %s: one or two lengths are needed, as 100 or 10-64K, from %u to 64M bytes",
				     text, VERIFY_COMPACT_BYTES_MIN);
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
		verify_error("a file is needed");
		return usage_error();
	}
	if (options->run_text && verify_run_parse(options->run_text, &options->run))
		return verify_failed(STATUS_WRONG,
				     "--run %s: 6 hexadecimal digits are needed, or - for records without run",
				     options->run_text);
	for (size_t at = 0; at < options->expected_count; at++)
		above |= options->expected[at].count > most;
	if (above)
		return verify_failed(STATUS_WRONG, "records are numbered 1 to %" PRIu64, VERIFY_COUNTER_MAX);
	return STATUS_OK;
}

int verify_options_parse(struct verify_options *options, int argc, char **argv)
{
	const char *alien = NULL;
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
	status = settings_take(options, argc, argv, &alien);
	if (status || options->help)
		return status;
	if (alien)
		verify_error("--%s is %s --make", alien, options->make ? "not for" : "for");
	else if (options->json && options->table)
		verify_error("--json or --table, not both");
	if (alien || (options->json && options->table))
		return usage_error();
	options->files = argv + optind;
	return options->make ? make_check(options) : read_check(options);
}
