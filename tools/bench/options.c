/* SPDX-License-Identifier: MIT */
#include "tools/bench/bench.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/output.h"

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
	"      --html FILE             a report with charts, in one file; one of these can be -,\n"
	"                              standard output; the table is on standard error then\n"
	"      --from FILE             measures nothing: reports of results that --json has saved\n"
	"      --compare FILE FILE     measures nothing: shows what got worse, beyond the spread of the runs\n"
	"  -q, --quiet                 no progress\n"
	"  -h, --help                  this text\n";

#define RECORD (1u << BENCH_RECORD)
#define IDLE (1u << BENCH_IDLE)

/* The jobs; an option has an effect on some of them only. */
enum job {
	LISTS = 1, /* each combination of the lists is measured */
	ALL = 2,
	SEED = 4,
	MEASURES = LISTS | ALL | SEED,
	FROM = 8,
	COMPARE = 16,
	ANY = MEASURES | FROM | COMPARE
};

/* A bool, and a number that is 1; behind these what takes an argument: one number or word, or several; texts. */
enum type { FLAG, ONE, VALUE, LIST, NOTE, NAME, RECEIVER };

static const struct setting {
	const char *name;
	int letter; /* or 0 */
	enum type type;
	unsigned jobs;
	unsigned no_ways; /* which it has no effect on either */
	size_t at;        /* in struct bench_options */
	uint64_t minimum, maximum;
	const char *const *words; /* NULL: a number */
	const char *needed;       /* what is said of something else; NULL: the range */
} settings[] = {
#define AT(field) offsetof(struct bench_options, field)
	{"receiver", 'r', RECEIVER, LISTS, 0, AT(receiver), 0, 0, NULL, NULL},
	{"by", 0, LIST, LISTS, 0, AT(ways), 0, 0, bench_way_names,
	 "the ways are library, push, mount, mount-append, record and idle"},
	{"size", 0, LIST, LISTS, IDLE, AT(sizes), 2, RECORD_BYTES_MAX, NULL, NULL},
	{"input", 0, NAME, LISTS | ALL, IDLE, AT(input_file), 0, 0, NULL, NULL},
	{"senders", 'g', LIST, LISTS, RECORD | IDLE, AT(senders), 1, BENCH_SENDERS_MAX, NULL, NULL},
	{"writers", 0, LIST, LISTS, 0, AT(writers), 1, BENCH_WRITERS_MAX, NULL, NULL},
	{"per-write", 'c', LIST, LISTS, RECORD | IDLE, AT(per_write), 0, PER_WRITE_MAX, NULL, NULL},
	{"count", 'n', VALUE, LISTS, RECORD | IDLE, AT(base.records), 1, COUNT_MAX, NULL, NULL},
	{"bytes", 0, VALUE, LISTS, RECORD | IDLE, AT(base.bytes), 1, COUNT_MAX, NULL, NULL},
	{"seconds", 0, VALUE, LISTS, RECORD, AT(base.seconds), 1, SECONDS_MAX, NULL, NULL},
	{"sustain", 0, VALUE, LISTS | ALL, 0, AT(sustain_s), SUSTAIN_MIN, SECONDS_MAX, NULL, NULL},
	{"rate", 0, VALUE, LISTS, RECORD | IDLE, AT(base.rate), 1, 10000000, NULL, NULL},
	{"runs", 0, VALUE, MEASURES, 0, AT(runs), 1, BENCH_RUNS_MAX, NULL, NULL},
	{"ring", 0, LIST, MEASURES, 0, AT(rings), RING_MIN, RING_MAX, NULL, NULL},
	{"format", 0, VALUE, LISTS, RECORD | IDLE, AT(base.format), 0, 0, bench_format_names, "raw or json is needed"},
	{"unify", 0, ONE, LISTS, RECORD | IDLE, AT(base.unify), 0, 0, NULL, NULL},
	{"rules", 0, VALUE, LISTS, IDLE, AT(base.rules), 1, BENCH_RULES_MAX, NULL, NULL},
	{"compress", 0, VALUE, LISTS, IDLE, AT(base.compress), 0, 0, compress_names, "auto, never or always is needed"},
	{"level", 0, VALUE, LISTS, 0, AT(base.level), 0, 0, level_names, "received, written or synced is needed"},
	{"tls", 0, ONE, LISTS, 0, AT(base.tls), 0, 0, NULL, NULL},
	{"psk", 0, NAME, LISTS, 0, AT(shared_key), 0, 0, NULL, NULL},
	{"link", 0, VALUE, LISTS, IDLE, AT(base.link_mbit), 1, 1000000, NULL, NULL},
	{"memory-limit", 0, VALUE, LISTS | ALL, 0, AT(base.memory_limit), MEMORY_MIN, COUNT_MAX, NULL,
	 "a size from 64M is needed"},
	{"seed-table", 0, FLAG, SEED, 0, AT(seed_table), 0, 0, NULL, NULL},
	{"all", 0, FLAG, ALL, 0, AT(all), 0, 0, NULL, NULL},
	{"brief", 0, FLAG, ALL | SEED, 0, AT(brief), 0, 0, NULL, NULL},
	{"note", 0, NOTE, MEASURES, 0, AT(note), 0, 0, NULL, NULL},
	{"tsv", 0, NAME, MEASURES | FROM, 0, AT(tsv_file), 0, 0, NULL, NULL},
	{"json", 0, NAME, MEASURES | FROM, 0, AT(json_file), 0, 0, NULL, NULL},
	{"resume", 0, FLAG, MEASURES, 0, AT(resume), 0, 0, NULL, NULL},
	{"markdown", 0, NAME, MEASURES | FROM, 0, AT(markdown_file), 0, 0, NULL, NULL},
	{"html", 0, NAME, MEASURES | FROM, 0, AT(html_file), 0, 0, NULL, NULL},
	{"from", 0, NAME, FROM, 0, AT(from_file), 0, 0, NULL, NULL},
	{"compare", 0, NAME, COMPARE, 0, AT(compare_file), 0, 0, NULL, NULL},
	{"quiet", 'q', FLAG, ANY, 0, AT(quiet), 0, 0, NULL, NULL},
	{"help", 'h', FLAG, ANY, 0, AT(help), 0, 0, NULL, NULL},
#undef AT
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
#define FIRST_LONG 256
_Static_assert(SETTINGS <= 64, "each has a bit of a word");
_Static_assert(BENCH_TEXT_ROOM == 256, "the limit of --note is told");

static int refuse(const char *option, const char *given, const char *needed)
{
	return bench_failed(STATUS_WRONG, "%s%s%s: %s", option, *given ? " " : "", given, needed);
}

static int value_parse(const struct setting *setting, const char *option, const char *given, uint64_t *value)
{
	unsigned long long unit = setting->minimum >= 1024 * 1024 ? 1024 * 1024 : 1;
	const char *suffix = unit > 1 ? "M" : "";
	int status = setting->words ? word_parse(given, setting->words, value)
				    : size_parse(given, setting->minimum, setting->maximum, value);

	if (status && setting->needed)
		return refuse(option, given, setting->needed);
	if (status)
		bench_error("%s %s: a number from %llu%s to %llu%s is needed", option, given, setting->minimum / unit,
			    suffix, setting->maximum / unit, suffix);
	return status ? STATUS_WRONG : STATUS_OK;
}

static int list_parse(const struct setting *setting, const char *option, struct bench_list *list)
{
	char *rest = optarg, *item;

	if (list->count)
		return refuse(option, optarg, "it was given before; a list has commas");
	while ((item = strsep(&rest, ","))) {
		if (list->count == BENCH_LIST_MAX)
			return refuse(option, item, "a list has 16 values at most");
		if (value_parse(setting, option, item, &list->values[list->count]))
			return STATUS_WRONG;
		list->count++;
		if (rest)
			rest[-1] = ','; /* the command is kept with the results */
	}
	return STATUS_OK;
}

static int receiver_take(struct bench_options *options)
{
	if (options->receiver[0])
		return refuse("-r", optarg, "another was given before");
	if (receiver_parse(optarg, RECEIVER_PORT_DEFAULT, options->receiver, &options->host, &options->port) == 0)
		return STATUS_OK;
	return refuse("-r", optarg, "HOST or HOST:PORT is needed, with a port from 1 to 65535");
}

static int setting_take(struct bench_options *options, const struct setting *setting)
{
	void *field = (char *)options + setting->at;
	char option[32];

	(void)snprintf(option, sizeof(option), "--%s", setting->name);
	if (setting->letter)
		(void)snprintf(option, sizeof(option), "-%c", setting->letter);
	switch (setting->type) {
	case FLAG:
		*(bool *)field = true;
		return STATUS_OK;
	case ONE:
		*(uint64_t *)field = 1;
		return STATUS_OK;
	case VALUE:
		return value_parse(setting, option, optarg, field);
	case LIST:
		return list_parse(setting, option, field);
	case RECEIVER:
		return receiver_take(options);
	case NOTE:
		if (strlen(optarg) >= BENCH_TEXT_ROOM)
			return refuse(option, "", "it is kept with up to 255 bytes");
		break;
	case NAME:
		/*
		 * An unset variable leaves an empty name: the temporary file beside it can be made, so the mistake
		 * would show after the last run only.
		 */
		if (!*optarg)
			return refuse(option, "", "the name of a file is needed");
		break;
	}
	*(const char **)field = optarg;
	return STATUS_OK;
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

/* Refuses options whose figures can't be seen, or that can't be set, where the receiver is another's. */
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
	return STATUS_OK;
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
			return refuse("--level", level_names[base->level], "a mount asks for written only");
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
	return STATUS_OK;
}

static int presets_check(const struct bench_options *options)
{
	const char *preset = options->all ? "--all" : "--seed-table";

	if (options->resume && (!options->json_file || output_is_standard(options->json_file)))
		return refuse("--resume", "", "--json names the file to go on from");
	if (options->note && !options->tsv_file && !options->json_file && !options->markdown_file &&
	    !options->html_file)
		return refuse("--note", "", "--tsv, --json, --markdown or --html names the file that keeps it");
	if ((options->all || options->seed_table) && options->rings.count > 1)
		return refuse(preset, "--ring", "with one size only");
	return STATUS_OK;
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
	return STATUS_OK;
}

static int options_check(const struct bench_options *options)
{
	int status = volume_check(options);

	if (status == STATUS_OK)
		status = presets_check(options);
	if (status == STATUS_OK && options->receiver[0])
		status = receiver_check(options);
	return status ? status : ways_check(options);
}

static int compared_take(struct bench_options *options, int argc, char **argv)
{
	if (optind + 1 != argc)
		return refuse("--compare", options->compare_file, "a second file is needed, and nothing behind");
	options->compare_to = argv[optind];
	return STATUS_OK;
}

static enum job job_of(const struct bench_options *options)
{
	return options->compare_file ? COMPARE
	       : options->from_file  ? FROM
	       : options->all        ? ALL
	       : options->seed_table ? SEED
				     : LISTS;
}

/*
 * `given`: a bit for each of the settings. An option that would be ignored is refused: it was meant to change
 * something.
 */
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
		(void)snprintf(name, sizeof(name), "--%s", settings[number].name);
		if (!(settings[number].jobs & job))
			return refuse(name, job_names[job], "it has no effect there");
		if (ways && !(ways & ~settings[number].no_ways))
			return refuse(name, "with these ways", "it has no effect on them");
	}
	return STATUS_OK;
}

static const struct setting *setting_of(int option)
{
	unsigned number;

	for (number = 0; number < SETTINGS; number++)
		if (settings[number].letter == option || FIRST_LONG + (int)number == option)
			return &settings[number];
	return NULL;
}

/* `*given` gets a bit for each that is there. */
static int settings_take(struct bench_options *options, int argc, char **argv, uint64_t *given)
{
	struct option long_options[SETTINGS + 1] = {{0}};
	int option, status = STATUS_OK;
	unsigned number;

	for (number = 0; number < SETTINGS; number++)
		long_options[number] =
			(struct option){.name = settings[number].name,
					.has_arg = settings[number].type > ONE ? required_argument : no_argument,
					.val = FIRST_LONG + (int)number};
	while (status == STATUS_OK && !options->help &&
	       (option = getopt_long(argc, argv, "r:g:c:n:qh", long_options, NULL)) != -1) {
		const struct setting *setting = setting_of(option);

		if (!setting) { /* getopt has said what is wrong */
			command_help_hint("bench");
			return STATUS_WRONG;
		}
		status = setting_take(options, setting);
		*given |= UINT64_C(1) << (setting - settings);
	}
	options->base.sustain = options->sustain_s != 0;
	return status;
}

static int standard_check(const struct bench_options *options)
{
	const char *const paths[] = {options->tsv_file, options->json_file, options->markdown_file, options->html_file};

	if (output_standard_count(paths, sizeof(paths) / sizeof(paths[0])) > 1)
		return refuse("--tsv, --json, --markdown, --html", "-", "standard output takes one of them");
	return STATUS_OK;
}

int bench_options_parse(struct bench_options *options, int argc, char **argv)
{
	uint64_t given = 0;
	int status;

	options->runs = 5;
	options->base.level = 1;
	status = settings_take(options, argc, argv, &given);
	if (status == STATUS_OK && options->help)
		(void)fputs(help, stdout);
	if (status || options->help)
		return status;
	status = effects_check(options, given);
	if (status == STATUS_OK)
		status = standard_check(options);
	if (status == STATUS_OK && options->compare_file)
		return compared_take(options, argc, argv);
	if (status == STATUS_OK && argv[optind])
		status = refuse("argument", argv[optind], "there are options only");
	if (status || options->from_file)
		return status;
	defaults_set(options);
	status = options_check(options);
	/* The time of a run like any other's, once it is known that no other was given. */
	if (status == STATUS_OK && options->base.sustain)
		options->base.seconds = options->sustain_s;
	return status;
}
