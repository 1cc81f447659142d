/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"

#define RECORD_BYTES_MAX (1024u * 1024)
#define PER_WRITE_MAX 1000000u
#define COUNT_MAX UINT64_C(1000000000000)
#define TIMED_RECORDS_MAX UINT64_C(100000000)
#define BYTES_DEFAULT (UINT64_C(256) * 1024 * 1024)
#define RATE_SECONDS_DEFAULT 5

const char *const bench_way_names[BENCH_WAYS] = {"library", "push", "mount"};
const char *const bench_level_names[] = {"received", "written", "synced", NULL};
const char *const bench_compress_names[] = {"auto", "never", "always", NULL};
static const char *const way_list[] = {"library", "push", "mount", NULL};
static const char *const format_names[] = {"raw", "json", NULL};

static void help_print(FILE *output)
{
	(void)fputs("usage: k2hft bench [OPTION]...\n"
		    "Measures how fast records go to a receiver, by each way and against a plain TCP pipe.\n\n"
		    "  -r, --receiver HOST[:PORT]  this one; without it, one is started here\n"
		    "      --by WAY,...            library, push, mount (all that work here)\n"
		    "      --size BYTES,...        of a record with its line end (10,1024,4096)\n"
		    "  -g, --senders NUMBER,...    senders at once, 1 to 128 (1)\n"
		    "  -c, --per-write NUMBER,...  records in one write; 0: 256 KiB of them, by library 1 (0)\n"
		    "  -n, --count RECORDS         in one run, of all senders\n"
		    "      --bytes SIZE            in one run, with K, M or G (256M)\n"
		    "      --seconds SECONDS       that one run takes\n"
		    "      --rate RECORDS          a second, and measures latencies\n"
		    "      --runs NUMBER           of each point; medians are printed (5)\n"
		    "      --format FORMAT         raw or json, of the receiver's file (raw)\n"
		    "      --compress MODE         auto, never or always (auto)\n"
		    "      --level LEVEL           received, written or synced (written)\n"
		    "      --tsv FILE              the results, as a table\n"
		    "      --json FILE             the results, with parameters and machine\n"
		    "  -q, --quiet                 no progress\n"
		    "  -h, --help                  this text\n",
		    output);
}

enum long_option {
	OPTION_BY = 256,
	OPTION_SIZE,
	OPTION_BYTES,
	OPTION_SECONDS,
	OPTION_RATE,
	OPTION_RUNS,
	OPTION_FORMAT,
	OPTION_COMPRESS,
	OPTION_LEVEL,
	OPTION_TSV,
	OPTION_JSON
};

static const struct option long_options[] = {
	{"receiver", required_argument, NULL, 'r'},
	{"by", required_argument, NULL, OPTION_BY},
	{"size", required_argument, NULL, OPTION_SIZE},
	{"senders", required_argument, NULL, 'g'},
	{"per-write", required_argument, NULL, 'c'},
	{"count", required_argument, NULL, 'n'},
	{"bytes", required_argument, NULL, OPTION_BYTES},
	{"seconds", required_argument, NULL, OPTION_SECONDS},
	{"rate", required_argument, NULL, OPTION_RATE},
	{"runs", required_argument, NULL, OPTION_RUNS},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"compress", required_argument, NULL, OPTION_COMPRESS},
	{"level", required_argument, NULL, OPTION_LEVEL},
	{"tsv", required_argument, NULL, OPTION_TSV},
	{"json", required_argument, NULL, OPTION_JSON},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int refuse(const char *option, const char *given, const char *needed)
{
	bench_error("%s %s: %s", option, given, needed);
	return BENCH_USAGE;
}

/* A name's place in a list that NULL ends, as a number. */
static int word_parse(const char *given, const char *const *names, uint64_t *place)
{
	for (*place = 0; names[*place]; ++*place)
		if (strcmp(given, names[*place]) == 0)
			return 0;
	return -1;
}

/* `names`: the list is of those, not of sizes. */
static int list_parse(const char *option, char *given, const char *const *names, uint64_t minimum, uint64_t maximum,
		      struct bench_list *list)
{
	char *rest = given, *item;
	int status;

	list->count = 0;
	while ((item = strsep(&rest, ","))) {
		if (list->count == BENCH_LIST_MAX)
			return refuse(option, item, "a list has 16 values at most");
		status = names ? word_parse(item, names, &list->values[list->count])
			       : size_parse(item, minimum, maximum, &list->values[list->count]);
		if (status && names)
			return refuse(option, item, "library, push and mount are the ways");
		if (status) {
			bench_error("%s %s: a number from %llu to %llu is needed", option, item,
				    (unsigned long long)minimum, (unsigned long long)maximum);
			return BENCH_USAGE;
		}
		list->count++;
	}
	return BENCH_OK;
}

static int number_take(const char *option, uint64_t maximum, uint64_t *number)
{
	if (size_parse(optarg, 1, maximum, number) == 0)
		return BENCH_OK;
	bench_error("%s %s: a number from 1 to %llu is needed", option, optarg, (unsigned long long)maximum);
	return BENCH_USAGE;
}

static int receiver_take(struct bench_options *options)
{
	if (strlen(optarg) >= sizeof(options->receiver))
		return refuse("-r", optarg, "the name is too long");
	memcpy(options->receiver, optarg, strlen(optarg) + 1);
	if (receiver_parse(options->receiver, &options->host, &options->port) == 0)
		return BENCH_OK;
	return refuse("-r", optarg, "HOST or HOST:PORT is needed, with a port from 1 to 65535");
}

static int word_take(struct bench_options *options, int option)
{
	uint64_t place;

	switch (option) {
	case OPTION_FORMAT:
		if (word_parse(optarg, format_names, &place))
			return refuse("--format", optarg, "raw or json is needed");
		options->json = place == 1;
		return BENCH_OK;
	case OPTION_COMPRESS:
		if (word_parse(optarg, bench_compress_names, &place))
			return refuse("--compress", optarg, "auto, never or always is needed");
		options->compress = (uint32_t)place;
		return BENCH_OK;
	default:
		if (word_parse(optarg, bench_level_names, &place))
			return refuse("--level", optarg, "received, written or synced is needed");
		options->level = (uint32_t)place;
		return BENCH_OK;
	}
}

static int option_take(struct bench_options *options, int option)
{
	switch (option) {
	case 'r':
		return receiver_take(options);
	case OPTION_BY:
		return list_parse("--by", optarg, way_list, 0, 0, &options->ways);
	case OPTION_SIZE:
		return list_parse("--size", optarg, NULL, 2, RECORD_BYTES_MAX, &options->sizes);
	case 'g':
		return list_parse("-g", optarg, NULL, 1, BENCH_SENDERS_MAX, &options->senders);
	case 'c':
		return list_parse("-c", optarg, NULL, 0, PER_WRITE_MAX, &options->per_write);
	case 'n':
		return number_take("-n", COUNT_MAX, &options->records);
	case OPTION_BYTES:
		return number_take("--bytes", COUNT_MAX, &options->bytes);
	case OPTION_SECONDS:
		return number_take("--seconds", 86400, &options->seconds);
	case OPTION_RATE:
		return number_take("--rate", 10000000, &options->rate);
	case OPTION_RUNS:
		return number_take("--runs", 1000, &options->runs);
	case OPTION_TSV:
		options->tsv_file = optarg;
		return BENCH_OK;
	case OPTION_JSON:
		options->json_file = optarg;
		return BENCH_OK;
	case 'q':
		options->quiet = true;
		return BENCH_OK;
	case 'h':
		options->help = true;
		return BENCH_OK;
	case '?': /* getopt has said what is wrong */
		(void)fputs("Try 'k2hft bench --help'.\n", stderr);
		return BENCH_USAGE;
	default:
		return word_take(options, option);
	}
}

static void defaults_set(struct bench_options *options)
{
	if (options->ways.count == 0) {
		options->ways = (struct bench_list){.values = {BENCH_LIBRARY, BENCH_PUSH}, .count = 2};
		if (access("/dev/fuse", R_OK | W_OK) == 0 && options->level == 1)
			options->ways.values[options->ways.count++] = BENCH_MOUNT;
	}
	if (options->sizes.count == 0)
		options->sizes = (struct bench_list){.values = {10, 1024, 4096}, .count = 3};
	if (options->senders.count == 0)
		options->senders = (struct bench_list){.values = {1}, .count = 1};
	if (options->per_write.count == 0)
		options->per_write = (struct bench_list){.values = {0}, .count = 1};
	if (options->records + options->bytes + options->seconds == 0) {
		if (options->rate)
			options->seconds = RATE_SECONDS_DEFAULT;
		else
			options->bytes = BYTES_DEFAULT;
	}
}

static int options_check(const struct bench_options *options, const char *left_over)
{
	unsigned number;

	if (left_over)
		return refuse("argument", left_over, "there are options only");
	if (!!options->records + !!options->bytes + !!options->seconds > 1)
		return refuse("-n, --bytes, --seconds", "", "one of them only");
	if (options->rate && options->receiver[0])
		return refuse("--rate", "with -r", "latencies are seen in the receiver's files, which have to be here");
	if (options->json && options->receiver[0])
		return refuse("--format json", "with -r", "that receiver has a FORMAT of its own");
	if (options->rate &&
	    (options->records > TIMED_RECORDS_MAX || options->seconds * options->rate > TIMED_RECORDS_MAX ||
	     options->bytes > TIMED_RECORDS_MAX))
		return refuse("--rate", "", "100000000 records or bytes in one run at most");
	for (number = 0; number < options->ways.count; number++)
		if (options->ways.values[number] == BENCH_MOUNT && options->level != 1)
			return refuse("--level", bench_level_names[options->level], "a mount asks for written only");
	return BENCH_OK;
}

int bench_options_parse(struct bench_options *options, int argc, char **argv)
{
	int option, status;

	options->runs = 5;
	options->level = 1;
	while ((option = getopt_long(argc, argv, "r:g:c:n:qh", long_options, NULL)) != -1) {
		status = option_take(options, option);
		if (status)
			return status;
		if (options->help) {
			help_print(stdout);
			return BENCH_OK;
		}
	}
	defaults_set(options);
	return options_check(options, argv[optind]);
}
