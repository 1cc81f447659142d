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
#define SECONDS_MAX 86400
#define SUSTAIN_MIN 4 /* a second for each quarter */
#define MEMORY_MIN (UINT64_C(64) << 20)
/* RINGSIZE takes less, and much more; here it has to be in memory, and to hold what a run writes at once. */
#define RING_MIN (UINT64_C(1) << 20)
#define RING_MAX (UINT64_C(1) << 30)
#define RATE_SECONDS_DEFAULT 5

static const char help[] =
	"usage: k2hft bench [OPTION]...\n"
	"Measures how fast records reach a receiver in each way, compared with a plain TCP pipe.\n\n"
	"  -r, --receiver HOST[:PORT]  sends to this one; without it, one is started here\n"
	"      --by WAY,...            library, push, mount (all that work here), mount-append, record, idle\n"
	"      --size BYTES,...        of a record with its line end (10,1024,4096)\n"
	"      --input FILE            the lines of this log, repeatedly, instead of made records\n"
	"  -g, --senders NUMBER,...    senders at once, 1 to 128 (1)\n"
	"      --writers NUMBER,...    threads of each sender that write, 1 to 128; library only (1)\n"
	"  -c, --per-write NUMBER,...  records in one write; 0: 256 KiB of them, by library 1 (0)\n"
	"      --ring SIZE,...         ring of each sender, in memory (2M, mount-append 8M)\n"
	"  -n, --count RECORDS         in one run, of all senders\n"
	"      --bytes SIZE            in one run, with K, M or G (256M, of one writer)\n"
	"      --seconds SECONDS       that one run takes (10, of several senders or writers)\n"
	"      --sustain SECONDS       the same, with a time series; compares its last quarter with its first\n"
	"      --rate RECORDS          a second, and measures latencies\n"
	"      --runs NUMBER           of each point; medians are printed (5)\n"
	"      --format FORMAT         raw or json, of the receiver's file (raw)\n"
	"      --unify                 everything into one file\n"
	"      --rules NUMBER          ALLOW patterns that are tried on each line, 1 to 16; mounts only\n"
	"      --compress MODE         auto, never or always (auto)\n"
	"      --level LEVEL           received, written or synced (written)\n"
	"      --tls                   encrypted, with a key made for the run\n"
	"      --psk FILE              encrypted, with this key\n"
	"      --link MBIT             a link of this many Mbit/s between senders and receiver\n"
	"      --memory-limit SIZE     for everything that is started, by a control group\n"
	"      --seed-table            K2HFTFUSE's published table, its figures beside ours\n"
	"      --all                   everything, as one table; about 37 minutes\n"
	"      --brief                 --all or --seed-table with an eighth of the records\n"
	"      --note TEXT             kept with the results, such as a commit\n"
	"      --tsv FILE              the results, as a table\n"
	"      --json FILE             the results, with parameters and machine\n"
	"      --resume                does not measure again what the file of --json already has\n"
	"      --markdown FILE         a report as Markdown\n"
	"      --html FILE             a report with charts, in one file\n"
	"      --from FILE             measures nothing: reports of results that --json has saved\n"
	"      --compare FILE FILE     measures nothing: shows what got worse, beyond the spread of the runs\n"
	"  -q, --quiet                 no progress\n"
	"  -h, --help                  this text\n";

enum long_option {
	OPTION_BY = 256,
	OPTION_SIZE,
	OPTION_INPUT,
	OPTION_WRITERS,
	OPTION_BYTES,
	OPTION_SECONDS,
	OPTION_SUSTAIN,
	OPTION_RATE,
	OPTION_RUNS,
	OPTION_RING,
	OPTION_FORMAT,
	OPTION_UNIFY,
	OPTION_RULES,
	OPTION_COMPRESS,
	OPTION_LEVEL,
	OPTION_TLS,
	OPTION_PSK,
	OPTION_LINK,
	OPTION_MEMORY_LIMIT,
	OPTION_SEED_TABLE,
	OPTION_ALL,
	OPTION_BRIEF,
	OPTION_NOTE,
	OPTION_TSV,
	OPTION_JSON,
	OPTION_RESUME,
	OPTION_MARKDOWN,
	OPTION_HTML,
	OPTION_FROM,
	OPTION_COMPARE
};

#define RECORD (1u << BENCH_RECORD)
#define IDLE (1u << BENCH_IDLE)

/* What is done; an option has an effect on some of it only. */
enum job {
	LISTS = 1, /* each combination of the lists is measured */
	ALL = 2,
	SEED = 4,
	MEASURES = LISTS | ALL | SEED,
	FROM = 8,
	COMPARE = 16,
	ANY = MEASURES | FROM | COMPARE
};

static const struct setting {
	struct option option;
	unsigned jobs;
	unsigned no_ways; /* which it has no effect on either */
} settings[] = {
	{{"receiver", required_argument, NULL, 'r'}, LISTS, 0},
	{{"by", required_argument, NULL, OPTION_BY}, LISTS, 0},
	{{"size", required_argument, NULL, OPTION_SIZE}, LISTS, IDLE},
	{{"input", required_argument, NULL, OPTION_INPUT}, LISTS | ALL, IDLE},
	{{"senders", required_argument, NULL, 'g'}, LISTS, RECORD | IDLE},
	{{"writers", required_argument, NULL, OPTION_WRITERS}, LISTS, 0},
	{{"per-write", required_argument, NULL, 'c'}, LISTS, RECORD | IDLE},
	{{"count", required_argument, NULL, 'n'}, LISTS, RECORD | IDLE},
	{{"bytes", required_argument, NULL, OPTION_BYTES}, LISTS, RECORD | IDLE},
	{{"seconds", required_argument, NULL, OPTION_SECONDS}, LISTS, RECORD},
	{{"sustain", required_argument, NULL, OPTION_SUSTAIN}, LISTS | ALL, 0},
	{{"rate", required_argument, NULL, OPTION_RATE}, LISTS, RECORD | IDLE},
	{{"runs", required_argument, NULL, OPTION_RUNS}, MEASURES, 0},
	{{"ring", required_argument, NULL, OPTION_RING}, MEASURES, 0},
	{{"format", required_argument, NULL, OPTION_FORMAT}, LISTS, RECORD | IDLE},
	{{"unify", no_argument, NULL, OPTION_UNIFY}, LISTS, RECORD | IDLE},
	{{"rules", required_argument, NULL, OPTION_RULES}, LISTS, IDLE},
	{{"compress", required_argument, NULL, OPTION_COMPRESS}, LISTS, IDLE},
	{{"level", required_argument, NULL, OPTION_LEVEL}, LISTS, 0},
	{{"tls", no_argument, NULL, OPTION_TLS}, LISTS, 0},
	{{"psk", required_argument, NULL, OPTION_PSK}, LISTS, 0},
	{{"link", required_argument, NULL, OPTION_LINK}, LISTS, IDLE},
	{{"memory-limit", required_argument, NULL, OPTION_MEMORY_LIMIT}, LISTS | ALL, 0},
	{{"seed-table", no_argument, NULL, OPTION_SEED_TABLE}, SEED, 0},
	{{"all", no_argument, NULL, OPTION_ALL}, ALL, 0},
	{{"brief", no_argument, NULL, OPTION_BRIEF}, ALL | SEED, 0},
	{{"note", required_argument, NULL, OPTION_NOTE}, MEASURES, 0},
	{{"tsv", required_argument, NULL, OPTION_TSV}, MEASURES | FROM, 0},
	{{"json", required_argument, NULL, OPTION_JSON}, MEASURES | FROM, 0},
	{{"resume", no_argument, NULL, OPTION_RESUME}, MEASURES, 0},
	{{"markdown", required_argument, NULL, OPTION_MARKDOWN}, MEASURES | FROM, 0},
	{{"html", required_argument, NULL, OPTION_HTML}, MEASURES | FROM, 0},
	{{"from", required_argument, NULL, OPTION_FROM}, FROM, 0},
	{{"compare", required_argument, NULL, OPTION_COMPARE}, COMPARE, 0},
	{{"quiet", no_argument, NULL, 'q'}, ANY, 0},
	{{"help", no_argument, NULL, 'h'}, ANY, 0},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
_Static_assert(SETTINGS <= 64, "each has a bit of a word");
_Static_assert(BENCH_TEXT_ROOM == 256, "the limit of --note is told");

static int refuse(const char *option, const char *given, const char *needed)
{
	bench_error("%s%s%s: %s", option, *given ? " " : "", given, needed);
	return BENCH_USAGE;
}

static int range_refuse(const char *option, const char *given, uint64_t minimum, uint64_t maximum)
{
	unsigned long long unit = minimum >= 1024 * 1024 ? 1024 * 1024 : 1;
	const char *suffix = unit > 1 ? "M" : "";

	bench_error("%s %s: a number from %llu%s to %llu%s is needed", option, given, minimum / unit, suffix,
		    maximum / unit, suffix);
	return BENCH_USAGE;
}

/* `names`: the list is of those, not of sizes. */
static int list_parse(const char *option, char *given, const char *const *names, uint64_t minimum, uint64_t maximum,
		      struct bench_list *list)
{
	char *rest = given, *item;
	int status;

	if (list->count)
		return refuse(option, given, "it was given before; a list has commas");
	while ((item = strsep(&rest, ","))) {
		if (list->count == BENCH_LIST_MAX)
			return refuse(option, item, "a list has 16 values at most");
		status = names ? word_parse(item, names, &list->values[list->count])
			       : size_parse(item, minimum, maximum, &list->values[list->count]);
		if (status && names)
			return refuse(option, item, "the ways are library, push, mount, mount-append, record and idle");
		if (status)
			return range_refuse(option, item, minimum, maximum);
		list->count++;
		if (rest)
			rest[-1] = ','; /* the command is kept with the results */
	}
	return BENCH_OK;
}

static int number_take(const char *option, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	return size_parse(optarg, minimum, maximum, number) ? range_refuse(option, optarg, minimum, maximum) : BENCH_OK;
}

static int receiver_take(struct bench_options *options)
{
	if (options->receiver[0])
		return refuse("-r", optarg, "another was given before");
	if (strlen(optarg) >= sizeof(options->receiver))
		return refuse("-r", optarg, "the name is too long");
	memcpy(options->receiver, optarg, strlen(optarg) + 1);
	if (receiver_parse(options->receiver, &options->host, &options->port) == 0)
		return BENCH_OK;
	return refuse("-r", optarg, "HOST or HOST:PORT is needed, with a port from 1 to 65535");
}

static int word_take(const char *option, const char *const *names, const char *needed, uint64_t *place)
{
	return word_parse(optarg, names, place) ? refuse(option, optarg, needed) : BENCH_OK;
}

static int memory_take(struct bench_options *options)
{
	if (size_parse(optarg, MEMORY_MIN, COUNT_MAX, &options->base.memory_limit) == 0)
		return BENCH_OK;
	return refuse("--memory-limit", optarg, "a size from 64M is needed");
}

static const char *option_name(int option)
{
	static char name[32];
	unsigned number;

	for (number = 0; number < SETTINGS; number++)
		if (settings[number].option.val == option)
			(void)snprintf(name, sizeof(name), "--%s", settings[number].option.name);
	return name;
}

/* The options with a file or a text. */
static int text_take(struct bench_options *options, int option)
{
	const char **const places[] = {[OPTION_INPUT - OPTION_BY] = &options->input_file,
				       [OPTION_PSK - OPTION_BY] = &options->shared_key,
				       [OPTION_NOTE - OPTION_BY] = &options->note,
				       [OPTION_TSV - OPTION_BY] = &options->tsv_file,
				       [OPTION_JSON - OPTION_BY] = &options->json_file,
				       [OPTION_MARKDOWN - OPTION_BY] = &options->markdown_file,
				       [OPTION_HTML - OPTION_BY] = &options->html_file,
				       [OPTION_FROM - OPTION_BY] = &options->from_file,
				       [OPTION_COMPARE - OPTION_BY] = &options->compare_file};

	if (option == OPTION_NOTE && strlen(optarg) >= BENCH_TEXT_ROOM)
		return refuse("--note", "", "it is kept with up to 255 bytes");
	/* Of an unset variable, say: beside such a one a file can be made, so that it would show after the last run only. */
	if (option != OPTION_NOTE && !*optarg)
		return refuse(option_name(option), "", "the name of a file is needed");
	*places[option - OPTION_BY] = optarg;
	return BENCH_OK;
}

static int flag_take(struct bench_options *options, int option)
{
	switch (option) {
	case OPTION_UNIFY:
		options->base.unify = 1;
		return BENCH_OK;
	case OPTION_TLS:
		options->base.tls = 1;
		return BENCH_OK;
	case OPTION_SEED_TABLE:
		options->seed_table = true;
		return BENCH_OK;
	case OPTION_ALL:
		options->all = true;
		return BENCH_OK;
	case OPTION_BRIEF:
		options->brief = true;
		return BENCH_OK;
	case OPTION_RESUME:
		options->resume = true;
		return BENCH_OK;
	case 'q':
		options->quiet = true;
		return BENCH_OK;
	case 'h':
		options->help = true;
		return BENCH_OK;
	case '?': /* getopt has said what is wrong */
		command_help_hint("bench");
		return BENCH_USAGE;
	default:
		return text_take(options, option);
	}
}

static int point_take(struct bench_options *options, int option)
{
	struct bench_point *base = &options->base;

	switch (option) {
	case 'n':
		return number_take("-n", 1, COUNT_MAX, &base->records);
	case OPTION_BYTES:
		return number_take("--bytes", 1, COUNT_MAX, &base->bytes);
	case OPTION_SECONDS:
		return number_take("--seconds", 1, SECONDS_MAX, &base->seconds);
	case OPTION_RATE:
		return number_take("--rate", 1, 10000000, &base->rate);
	case OPTION_RULES:
		return number_take("--rules", 1, BENCH_RULES_MAX, &base->rules);
	case OPTION_LINK:
		return number_take("--link", 1, 1000000, &base->link_mbit);
	case OPTION_FORMAT:
		return word_take("--format", bench_format_names, "raw or json is needed", &base->format);
	case OPTION_COMPRESS:
		return word_take("--compress", bench_compress_names, "auto, never or always is needed",
				 &base->compress);
	case OPTION_LEVEL:
		return word_take("--level", bench_level_names, "received, written or synced is needed", &base->level);
	default:
		return flag_take(options, option);
	}
}

static int option_take(struct bench_options *options, int option)
{
	switch (option) {
	case 'r':
		return receiver_take(options);
	case OPTION_BY:
		return list_parse("--by", optarg, bench_way_names, 0, 0, &options->ways);
	case OPTION_SIZE:
		return list_parse("--size", optarg, NULL, 2, RECORD_BYTES_MAX, &options->sizes);
	case 'g':
		return list_parse("-g", optarg, NULL, 1, BENCH_SENDERS_MAX, &options->senders);
	case OPTION_WRITERS:
		return list_parse("--writers", optarg, NULL, 1, BENCH_WRITERS_MAX, &options->writers);
	case 'c':
		return list_parse("-c", optarg, NULL, 0, PER_WRITE_MAX, &options->per_write);
	case OPTION_RING:
		return list_parse("--ring", optarg, NULL, RING_MIN, RING_MAX, &options->rings);
	case OPTION_SUSTAIN:
		options->base.sustain = 1;
		return number_take("--sustain", SUSTAIN_MIN, SECONDS_MAX, &options->sustain_s);
	case OPTION_RUNS:
		return number_take("--runs", 1, BENCH_RUNS_MAX, &options->runs);
	case OPTION_MEMORY_LIMIT:
		return memory_take(options);
	default:
		return point_take(options, option);
	}
}

static bool several_writers(const struct bench_options *options)
{
	return bench_list_most(&options->writers) > 1;
}

/* All that can do what the others ask for. */
static void ways_default(struct bench_options *options)
{
	options->ways = (struct bench_list){.values = {BENCH_LIBRARY, BENCH_PUSH}, .count = 2};
	if (several_writers(options)) {
		options->ways.count = 1;
		return;
	}
	if (options->base.rules)
		options->ways.count = 0;
	if (!options->no_mount && options->base.level == 1)
		options->ways.values[options->ways.count++] = BENCH_MOUNT;
}

static void defaults_set(struct bench_options *options)
{
	struct bench_point *base = &options->base;

	options->no_mount = access("/dev/fuse", R_OK | W_OK) != 0;
	if (options->ways.count == 0)
		ways_default(options);
	if (options->input_file && options->sizes.count == 0)
		options->sizes = (struct bench_list){.count = 1};
	else if (options->sizes.count == 0)
		options->sizes = (struct bench_list){.values = {10, 1024, 4096}, .count = 3};
	if (options->senders.count == 0)
		options->senders = (struct bench_list){.values = {1}, .count = 1};
	if (options->writers.count == 0)
		options->writers = (struct bench_list){.values = {1}, .count = 1};
	if (options->rings.count == 0)
		options->rings = (struct bench_list){.count = 1};
	if (options->per_write.count == 0)
		options->per_write = (struct bench_list){.values = {0}, .count = 1};
	if (base->rate && base->records + base->bytes + base->seconds + base->sustain == 0)
		base->seconds = RATE_SECONDS_DEFAULT;
	if (options->shared_key)
		base->tls = 1;
	if (options->all && !options->input_file)
		options->input_file = bench_input_find();
	else if (options->input_file)
		base->input = 1;
}

/* What can't be seen or set where the receiver is another's. */
static int receiver_check(const struct bench_options *options)
{
	const struct bench_point *base = &options->base;

	if (base->rate)
		return refuse("--rate", "with -r", "latencies are seen in the receiver's files, which have to be here");
	if (base->sustain)
		return refuse("--sustain", "with -r", "rates are seen in the receiver's files, which have to be here");
	if (base->format || base->unify)
		return refuse(base->format ? "--format json" : "--unify", "with -r",
			      "that receiver has settings of its own");
	if (base->tls && !options->shared_key)
		return refuse("--tls", "with -r", "that receiver has a key of its own, which --psk names");
	if (base->link_mbit)
		return refuse("--link", "with -r", "that receiver has a link of its own");
	return BENCH_OK;
}

static int ways_check(const struct bench_options *options)
{
	const struct bench_point *base = &options->base;
	unsigned number;

	if (options->ways.count == 0)
		return refuse("--rules", "", "patterns are the mount's, and there can be none here");
	for (number = 0; number < options->ways.count; number++) {
		uint64_t way = options->ways.values[number];

		if (bench_way_mounts(way) && base->level != 1)
			return refuse("--level", bench_level_names[base->level], "a mount asks for written only");
		if (bench_way_mounts(way) && options->no_mount)
			return refuse("--by", bench_way_names[way], "/dev/fuse can't be used here");
		if (!bench_way_mounts(way) && base->rules)
			return refuse("--rules", bench_way_names[way], "patterns are the mount's only");
		if (way != BENCH_LIBRARY && several_writers(options))
			return refuse("--writers", bench_way_names[way], "only the library has writers of one sender");
		if ((way == BENCH_RECORD || way == BENCH_IDLE) && (base->sustain || options->receiver[0]))
			return refuse("--by", bench_way_names[way], "not with -r or --sustain");
		if (way == BENCH_RECORD && base->input)
			return refuse("--by", "record", "not with --input");
	}
	return BENCH_OK;
}

static int presets_check(const struct bench_options *options)
{
	const char *preset = options->all ? "--all" : "--seed-table";

	if (options->resume && !options->json_file)
		return refuse("--resume", "", "--json names the file to go on from");
	if (options->note && !options->tsv_file && !options->json_file && !options->markdown_file &&
	    !options->html_file)
		return refuse("--note", "", "--tsv, --json, --markdown or --html names the file that keeps it");
	if ((options->all || options->seed_table) && options->rings.count > 1)
		return refuse(preset, "--ring", "with one size only");
	return BENCH_OK;
}

static int volume_check(const struct bench_options *options)
{
	const struct bench_point *base = &options->base;

	if (!!base->records + !!base->bytes + !!base->seconds + !!base->sustain > 1)
		return refuse("-n, --bytes, --seconds, --sustain", "", "one of them only");
	if (base->rate && (base->unify || base->input))
		return refuse("--rate", base->unify ? "--unify" : "--input",
			      "it can't be told there when which record was written");
	if (base->rate && base->sustain)
		return refuse("--rate", "--sustain", "one of them only");
	if (base->rate && (base->records > TIMED_RECORDS_MAX || base->seconds * base->rate > TIMED_RECORDS_MAX ||
			   base->bytes > TIMED_RECORDS_MAX))
		return refuse("--rate", "", "100000000 records or bytes in one run at most");
	if (options->input_file && options->sizes.values[0] && base->input)
		return refuse("--size", "--input", "lines of a log have their own sizes");
	if (bench_list_most(&options->senders) * bench_list_most(&options->writers) > BENCH_STREAMS_MAX)
		return refuse("--writers", "-g", "512 writers of all senders together at most");
	return BENCH_OK;
}

static int options_check(const struct bench_options *options)
{
	int status = volume_check(options);

	if (status == BENCH_OK)
		status = presets_check(options);
	if (status == BENCH_OK && options->receiver[0])
		status = receiver_check(options);
	return status ? status : ways_check(options);
}

static int compared_take(struct bench_options *options, int argc, char **argv)
{
	if (optind + 1 != argc)
		return refuse("--compare", options->compare_file, "a second file is needed, and nothing behind");
	options->compare_to = argv[optind];
	return BENCH_OK;
}

static enum job job_of(const struct bench_options *options)
{
	return options->compare_file ? COMPARE
	       : options->from_file  ? FROM
	       : options->all        ? ALL
	       : options->seed_table ? SEED
				     : LISTS;
}

/* `given`: a bit for each of the settings. What would be ignored is refused: it was meant to change something. */
static int effects_check(const struct bench_options *options, uint64_t given)
{
	static const char *const job_names[] = {[LISTS] = "without --all and --seed-table",
						[ALL] = "with --all",
						[SEED] = "with --seed-table",
						[FROM] = "with --from",
						[COMPARE] = "with --compare"};
	enum job job = job_of(options);
	unsigned ways = 0, number;
	char name[32];

	for (number = 0; number < options->ways.count; number++)
		ways |= 1u << options->ways.values[number];
	for (number = 0; number < SETTINGS; number++) {
		if (!(given >> number & 1))
			continue;
		(void)snprintf(name, sizeof(name), "--%s", settings[number].option.name);
		if (!(settings[number].jobs & job))
			return refuse(name, job_names[job], "it has no effect there");
		if (ways && !(ways & ~settings[number].no_ways))
			return refuse(name, "with these ways", "it has no effect on them");
	}
	return BENCH_OK;
}

/* `*given` gets a bit for each that is there. */
static int settings_take(struct bench_options *options, int argc, char **argv, uint64_t *given)
{
	struct option long_options[SETTINGS + 1] = {{0}};
	int option, status = BENCH_OK;
	unsigned number;

	for (number = 0; number < SETTINGS; number++)
		long_options[number] = settings[number].option;
	while (status == BENCH_OK && !options->help &&
	       (option = getopt_long(argc, argv, "r:g:c:n:qh", long_options, NULL)) != -1) {
		status = option_take(options, option);
		for (number = 0; number < SETTINGS; number++)
			*given |= (uint64_t)(settings[number].option.val == option) << number;
	}
	return status;
}

int bench_options_parse(struct bench_options *options, int argc, char **argv)
{
	uint64_t given = 0;
	int status;

	options->runs = 5;
	options->base.level = 1;
	status = settings_take(options, argc, argv, &given);
	if (status == BENCH_OK && options->help)
		(void)fputs(help, stdout);
	if (status || options->help)
		return status;
	status = effects_check(options, given);
	if (status == BENCH_OK && options->compare_file)
		return compared_take(options, argc, argv);
	if (status == BENCH_OK && argv[optind])
		status = refuse("argument", argv[optind], "there are options only");
	if (status || options->from_file)
		return status;
	defaults_set(options);
	status = options_check(options);
	/* The time of a run like any other's, once it is known that no other was given. */
	if (status == BENCH_OK && options->base.sustain)
		options->base.seconds = options->sustain_s;
	return status;
}
