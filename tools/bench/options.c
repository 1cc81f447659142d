/* SPDX-License-Identifier: MIT */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/output.h"

#define RECORD_BYTES_MAX (1024u * 1024)
#define PER_WRITE_MAX 1000000u
#define COUNT_MAX UINT64_C(1000000000000)
#define TIMED_RECORDS_MAX UINT64_C(100000000)
#define SECONDS_MAX 86400
#define WINDOW_MAX 3600
#define WINDOW_DEFAULT 10
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
	"      --by WAY,...            library, push, mount (all that work here), mount-append, record, idle,\n"
	"                              failover\n"
	"      --size BYTES,...        of a record with its line end (10,1024,4096)\n"
	"      --input FILE            the lines of this log, repeatedly, instead of made records\n"
	"  -g, --senders NUMBER,...    senders at once, 1 to 128 (1)\n"
	"      --writers NUMBER,...    threads of each sender that write, 1 to 128; library only (1)\n"
	"      --receivers NUMBER,...  that are started, 1 to 8; each sender spreads over them (1)\n"
	"  -c, --per-write NUMBER,...  records in one write; 0: 256 KiB of them, by library 1 (0)\n"
	"      --ring SIZE,...         ring of each sender, in memory (2M, mount-append 8M)\n"
	"  -n, --count RECORDS         in one run, of all senders\n"
	"      --bytes SIZE            in one run, with K, M or G (256M, of one writer)\n"
	"      --seconds SECONDS       that one run takes (10, of several senders or writers)\n"
	"      --sustain SECONDS       the same, with a time series; compares its last quarter with its first\n"
	"      --drop-caches SECONDS   drops the page cache after so many of --sustain, as root\n"
	"      --warmup SECONDS        that do not count, before ten windows (0)\n"
	"      --window SECONDS        of each of ten windows, whose mean rate counts (10)\n"
	"      --rate RECORDS          a second, and measures latencies\n"
	"      --runs NUMBER           of each point; medians are printed (5)\n"
	"      --format FORMAT         of the receiver's file: raw, json or published (raw)\n"
	"      --sink SINK,...         of the receiver: file; exec, PLUGIN = /bin/cat; relay, to another\n"
	"                              one with files; the pipe does the same; kafka, beside a plain\n"
	"                              producer; forward or otlp, beside ready messages (file)\n"
	"      --brokers HOST:PORT,... of --sink kafka\n"
	"      --unify                 everything into one file\n"
	"      --rules NUMBER          ALLOW patterns that are tried on each line, 1 to 16; mounts only\n"
	"      --compress MODE         auto, never or always (auto)\n"
	"      --level LEVEL           received, written or synced (written)\n"
	"      --tls                   encrypted, with a key made for the run\n"
	"      --psk FILE              encrypted, with this key\n"
	"      --link MBIT             a link of this many Mbit/s between senders and receiver\n"
	"      --memory-limit SIZE     for everything that is started, by a control group\n"
	"      --published             K2HFTFUSE's published table, with its figures beside ours\n"
	"      --seed-table            the same\n"
	"      --all                   everything, as one table; about 37 minutes\n"
	"      --brief                 --all or --published with an eighth of the records\n"
	"      --note TEXT             kept with the results, such as a commit\n"
	"      --tsv FILE              the results, as a table\n"
	"      --json FILE             the results, with parameters and machine\n"
	"      --resume                does not measure again what the file of --json already has\n"
	"      --markdown FILE         a report as Markdown\n"
	"      --html FILE             a report with charts, in one file; one of these can be -,\n"
	"                              standard output; the table is on standard error then\n"
	"      --from FILE             measures nothing: reports of results that --json has saved\n"
	"      --repeat FILE           measures again what --json has saved, with the same parameters\n"
	"      --compare FILE FILE     measures nothing: shows what got worse, beyond the spread of the runs\n"
	"  -q, --quiet                 no progress\n"
	"  -h, --help                  this text\n";

/* The jobs; an option has an effect on some of them only, and on some of the ways of LISTS. */
enum {
	LISTS = 1, /* each combination of the lists is measured */
	ALL = 2,
	SEED = 4,
	FROM = 8,
	COMPARE = 16,
	REPEAT = 32,
	MEASURES = LISTS | ALL | SEED | REPEAT,
	ANY = MEASURES | FROM | COMPARE,
	WAYS_SHIFT = 6,
	NO_RECORD = 1 << (WAYS_SHIFT + BENCH_RECORD),
	NO_IDLE = 1 << (WAYS_SHIFT + BENCH_IDLE),
	NO_FAILOVER = 1 << (WAYS_SHIFT + BENCH_FAILOVER),
	NO_STILL = NO_RECORD | NO_IDLE | NO_FAILOVER
};

#define AT(field) .at = offsetof(struct bench_options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("receiver", 'r', TEXT, LISTS | REPEAT, AT(receiver), .needed = RECEIVER_NEEDED),
	COMMAND_OPTION("by", 0, LIST, LISTS, AT(ways),
		       OPTION_WORDS(bench_way_names,
				    "the ways are library, push, mount, mount-append, record, idle and failover")),
	COMMAND_OPTION("size", 0, LIST, LISTS | NO_IDLE | NO_FAILOVER, AT(sizes), OPTION_RANGE(2, RECORD_BYTES_MAX)),
	COMMAND_OPTION("input", 0, TEXT, LISTS | ALL | REPEAT | NO_IDLE | NO_FAILOVER, AT(input_file)),
	COMMAND_OPTION("senders", 'g', LIST, LISTS | NO_STILL, AT(senders), OPTION_RANGE(1, BENCH_SENDERS_MAX)),
	COMMAND_OPTION("writers", 0, LIST, LISTS, AT(writers), OPTION_RANGE(1, BENCH_WRITERS_MAX)),
	COMMAND_OPTION("receivers", 0, LIST, LISTS | NO_RECORD | NO_IDLE, AT(receivers),
		       OPTION_RANGE(1, BENCH_RECEIVERS_MAX)),
	COMMAND_OPTION("per-write", 'c', LIST, LISTS | NO_STILL, AT(per_write), OPTION_RANGE(0, PER_WRITE_MAX)),
	COMMAND_OPTION("count", 'n', SIZE, LISTS | NO_STILL, AT(base.records), OPTION_RANGE(1, COUNT_MAX)),
	COMMAND_OPTION("bytes", 0, SIZE, LISTS | NO_STILL, AT(base.bytes), OPTION_RANGE(1, COUNT_MAX)),
	COMMAND_OPTION("seconds", 0, SIZE, LISTS | NO_RECORD | NO_FAILOVER, AT(base.seconds),
		       OPTION_RANGE(1, SECONDS_MAX)),
	COMMAND_OPTION("sustain", 0, SIZE, LISTS | ALL, AT(sustain_s), OPTION_RANGE(SUSTAIN_MIN, SECONDS_MAX)),
	COMMAND_OPTION("drop-caches", 0, SIZE, LISTS | NO_STILL, AT(base.drop_caches), OPTION_RANGE(1, SECONDS_MAX)),
	COMMAND_OPTION("rate", 0, SIZE, LISTS | NO_STILL, AT(base.rate), OPTION_RANGE(1, 10000000)),
	COMMAND_OPTION("warmup", 0, SIZE, LISTS | SEED | NO_STILL, AT(base.warmup), OPTION_RANGE(1, WINDOW_MAX)),
	COMMAND_OPTION("window", 0, SIZE, LISTS | SEED | NO_STILL, AT(base.window), OPTION_RANGE(1, WINDOW_MAX)),
	COMMAND_OPTION("runs", 0, SIZE, MEASURES, AT(runs), OPTION_RANGE(1, BENCH_RUNS_MAX)),
	COMMAND_OPTION("ring", 0, LIST, LISTS | ALL | SEED, AT(rings), OPTION_RANGE(RING_MIN, RING_MAX)),
	COMMAND_OPTION("format", 0, WORD, LISTS | NO_STILL, AT(base.format),
		       OPTION_WORDS(bench_format_names, "raw, json or published is needed")),
	COMMAND_OPTION("sink", 0, LIST, LISTS | NO_STILL, AT(sinks),
		       OPTION_WORDS(bench_sink_names, "the sinks are file, exec, relay, kafka, forward and otlp")),
	COMMAND_OPTION("brokers", 0, TEXT, LISTS | REPEAT | NO_STILL, AT(brokers)),
	COMMAND_OPTION("unify", 0, ONE, LISTS | NO_STILL, AT(base.unify)),
	COMMAND_OPTION("rules", 0, SIZE, LISTS | NO_IDLE | NO_FAILOVER, AT(base.rules),
		       OPTION_RANGE(1, BENCH_RULES_MAX)),
	COMMAND_OPTION("compress", 0, WORD, LISTS | NO_IDLE, AT(base.compress),
		       OPTION_WORDS(compress_names, "auto, never or always is needed")),
	COMMAND_OPTION("level", 0, WORD, LISTS, AT(base.level),
		       OPTION_WORDS(level_names, "received, written or synced is needed")),
	COMMAND_OPTION("tls", 0, ONE, LISTS, AT(base.tls)),
	COMMAND_OPTION("psk", 0, TEXT, LISTS | REPEAT, AT(shared_key)),
	COMMAND_OPTION("link", 0, SIZE, LISTS | NO_IDLE | NO_FAILOVER, AT(base.link_mbit), OPTION_RANGE(1, 1000000)),
	COMMAND_OPTION("memory-limit", 0, SIZE, LISTS | ALL, AT(base.memory_limit), OPTION_RANGE(MEMORY_MIN, COUNT_MAX),
		       .needed = "a size from 64M is needed"),
	COMMAND_OPTION("seed-table", 0, FLAG, SEED, AT(seed_table)),
	COMMAND_OPTION("published", 0, FLAG, SEED, AT(seed_table)),
	COMMAND_OPTION("all", 0, FLAG, ALL, AT(all)),
	COMMAND_OPTION("brief", 0, FLAG, ALL | SEED, AT(brief)),
	COMMAND_OPTION("note", 0, TEXT, MEASURES, AT(note), OPTION_RANGE(0, BENCH_TEXT_ROOM - 1),
		       .needed = "1 to 255 bytes are needed"),
	COMMAND_OPTION("tsv", 0, TEXT, MEASURES | FROM, AT(tsv_file)),
	COMMAND_OPTION("json", 0, TEXT, MEASURES | FROM, AT(json_file)),
	COMMAND_OPTION("resume", 0, FLAG, LISTS | ALL | SEED, AT(resume)),
	COMMAND_OPTION("markdown", 0, TEXT, MEASURES | FROM, AT(markdown_file)),
	COMMAND_OPTION("html", 0, TEXT, MEASURES | FROM, AT(html_file)),
	COMMAND_OPTION("from", 0, TEXT, FROM, AT(from_file)),
	COMMAND_OPTION("repeat", 0, TEXT, REPEAT, AT(repeat_file)),
	COMMAND_OPTION("compare", 0, TEXT, COMPARE, AT(compare_file)),
	COMMAND_OPTION("quiet", 'q', FLAG, ANY, AT(quiet)),
	COMMAND_OPTION("help", 'h', HELP, ANY, AT(help)),
};
#undef AT
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
_Static_assert(SETTINGS <= 64, "each has a bit of a word");
_Static_assert(BENCH_TEXT_ROOM == 256, "the limit of --note is told");

static int refuse(const char *option, const char *given, const char *needed)
{
	return bench_failed(STATUS_WRONG, "%s%s%s: %s", option, *given ? " " : "", given, needed);
}

/* All that can do what the others ask for. */
static void ways_default(struct bench_options *options)
{
	options->ways = (struct number_list){.values = {BENCH_LIBRARY, BENCH_PUSH}, .count = 2};
	if (number_list_most(&options->writers) > 1) {
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

	if (options->runs == 0)
		options->runs = 5;
	if (options->ways.count == 0)
		ways_default(options);
	if (options->input_file && options->sizes.count == 0)
		options->sizes = (struct number_list){.count = 1};
	else if (options->sizes.count == 0)
		options->sizes = (struct number_list){.values = {10, 1024, 4096}, .count = 3};
	if (options->senders.count == 0)
		options->senders = (struct number_list){.values = {1}, .count = 1};
	if (options->writers.count == 0)
		options->writers = (struct number_list){.values = {1}, .count = 1};
	if (options->receivers.count == 0)
		options->receivers = (struct number_list){.values = {1}, .count = 1};
	if (options->sinks.count == 0)
		options->sinks = (struct number_list){.count = 1};
	if (options->rings.count == 0)
		options->rings = (struct number_list){.count = 1};
	if (options->per_write.count == 0)
		options->per_write = (struct number_list){.values = {0}, .count = 1};
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
		return refuse(base->window ? "--window" : "--sustain", "with -r",
			      "rates are seen in the receiver's files, which have to be here");
	if (base->format || base->unify || number_list_most(&options->sinks))
		return refuse(base->format  ? "--format json"
			      : base->unify ? "--unify"
					    : "--sink",
			      "with -r", "that receiver has settings of its own");
	if (base->tls && !options->shared_key)
		return refuse("--tls", "with -r", "that receiver has a key of its own, which --psk names");
	if (base->link_mbit)
		return refuse("--link", "with -r", "that receiver has a link of its own");
	return STATUS_OK;
}

/* Sinks without files, and what goes with them. */
static int sinks_check(const struct bench_options *options)
{
	const struct bench_point *base = &options->base;
	const char *option = base->rate      ? "--rate"
			     : base->window  ? "--window"
			     : base->sustain ? "--sustain"
			     : base->format  ? "--format"
			     : base->unify   ? "--unify"
					     : NULL;
	uint64_t most = number_list_most(&options->sinks);
	bool kafka = false;
	char given[32];

	for (unsigned number = 0; number < options->sinks.count; number++)
		kafka |= options->sinks.values[number] == BENCH_SINK_KAFKA;
	if (options->brokers && !kafka)
		return refuse("--brokers", "", "--sink kafka is needed");
	if (kafka && !options->brokers)
		return refuse("--sink", "kafka", "--brokers names the brokers that records go to");
	(void)snprintf(given, sizeof(given), "--sink %s", bench_sink_names[most]);
	if (option && most >= BENCH_SINK_KAFKA)
		return refuse(option, given, "that is about the receiver's files");
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
		if (way != BENCH_LIBRARY && number_list_most(&options->writers) > 1)
			return refuse("--writers", bench_way_names[way], "only the library has writers of one sender");
		if (bench_way_still(way) && (base->sustain || options->receiver))
			return refuse("--by", bench_way_names[way], "not with -r or --sustain");
		if (way == BENCH_RECORD && base->input)
			return refuse("--by", "record", "not with --input");
	}
	return STATUS_OK;
}

static int presets_check(const struct bench_options *options)
{
	const char *preset = options->all ? "--all" : "--published";

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

	if (base->drop_caches && base->drop_caches >= options->sustain_s)
		return refuse("--drop-caches", "", "--sustain is needed, with more seconds");
	if (base->drop_caches && access(BENCH_DROP_CACHES, W_OK))
		return refuse("--drop-caches", "", "only root can, by " BENCH_DROP_CACHES);
	/* The warm-up and ten windows are how long a run takes. */
	if (!!base->records + !!base->bytes + !!base->seconds + !!options->sustain_s + !!base->window > 1)
		return refuse("-n, --bytes, --seconds, --sustain, --window", "", "one of them only");
	if (base->window && options->brief)
		return refuse("--brief", "--window", "it has no effect there");
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
	if (number_list_most(&options->senders) * number_list_most(&options->writers) > BENCH_STREAMS_MAX)
		return refuse("--writers", "-g", "512 writers of all senders together at most");
	return STATUS_OK;
}

/* Several receivers are those that are started here, whose files have a stream only together. */
static int receivers_check(const struct bench_options *options)
{
	const struct bench_point *base = &options->base;

	if (number_list_most(&options->receivers) == 1)
		return STATUS_OK;
	if (options->receiver)
		return refuse("--receivers", "-r", "several are started here, or there is that one");
	if (base->rate || base->sustain || base->link_mbit)
		return refuse("--receivers",
			      base->rate      ? "--rate"
			      : base->window  ? "--window"
			      : base->sustain ? "--sustain"
					      : "--link",
			      "with one receiver only");
	return STATUS_OK;
}

static int options_check(const struct bench_options *options)
{
	int status = volume_check(options);

	if (status == STATUS_OK)
		status = presets_check(options);
	if (status == STATUS_OK && options->receiver)
		status = receiver_check(options);
	if (status == STATUS_OK)
		status = receivers_check(options);
	if (status == STATUS_OK)
		status = sinks_check(options);
	return status ? status : ways_check(options);
}

static int compared_take(struct bench_options *options, int argc, char **argv)
{
	if (optind + 1 != argc)
		return refuse("--compare", options->compare_file, "a second file is needed, and nothing behind");
	options->compare_to = argv[optind];
	return STATUS_OK;
}

static unsigned job_of(const struct bench_options *options)
{
	return options->compare_file  ? COMPARE
	       : options->from_file   ? FROM
	       : options->all         ? ALL
	       : options->seed_table  ? SEED
	       : options->repeat_file ? REPEAT
				      : LISTS;
}

/*
 * `given`: a bit for each of the settings. An option that would be ignored is refused: it was meant to change
 * something.
 */
static int effects_check(const struct bench_options *options, uint64_t given)
{
	static const char *const job_names[] = {[LISTS] = "without --all and --published",
						[ALL] = "with --all",
						[SEED] = "with --published",
						[FROM] = "with --from",
						[COMPARE] = "with --compare",
						[REPEAT] = "with --repeat"};
	unsigned job = job_of(options), ways = 0, number;
	char name[32];

	for (number = 0; number < options->ways.count; number++)
		ways |= 1u << options->ways.values[number];
	for (number = 0; number < SETTINGS; number++) {
		if (!(given >> number & 1))
			continue;
		(void)snprintf(name, sizeof(name), "--%s", settings[number].name);
		if (!(settings[number].jobs & job))
			return refuse(name, job_names[job], "it has no effect there");
		if (ways && !(ways & ~(settings[number].jobs >> WAYS_SHIFT)))
			return refuse(name, "with these ways", "it has no effect on them");
	}
	return STATUS_OK;
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
	static const struct command_options known = {"bench", help, settings, SETTINGS};
	uint64_t given;
	int status;

	options->base.level = 1;
	status = command_options_take(&known, options, argc, argv, &given);
	if (status || options->help)
		return status;
	if (options->base.warmup && !options->base.window)
		options->base.window = WINDOW_DEFAULT;
	options->base.sustain = options->sustain_s || options->base.window;
	status = effects_check(options, given);
	if (status == STATUS_OK)
		status = standard_check(options);
	if (status == STATUS_OK && options->receiver &&
	    receiver_parse(options->receiver, RECEIVER_PORT_DEFAULT, options->receiver_copy, &options->host,
			   &options->port))
		status = refuse("--receiver", options->receiver, RECEIVER_NEEDED);
	if (status == STATUS_OK && options->compare_file)
		return compared_take(options, argc, argv);
	if (status == STATUS_OK && argv[optind])
		status = refuse("argument", argv[optind], "there are options only");
	options->no_mount = access("/dev/fuse", R_OK | W_OK) != 0;
	if (status || options->from_file || options->repeat_file)
		return status;
	defaults_set(options);
	status = options_check(options);
	/* The time of a run like any other's, once it is known that no other was given. */
	if (status == STATUS_OK && options->base.sustain)
		options->base.seconds = options->base.window
						? options->base.warmup + BENCH_WINDOWS * options->base.window
						: options->sustain_s;
	return status;
}

static bool receivers_measurable(const struct bench_point *point)
{
	bool one = bench_way_still(point->way) || point->rate || point->sustain || point->link_mbit;

	if (point->way == BENCH_FAILOVER)
		return point->receivers >= 2 && point->receivers <= BENCH_RECEIVERS_MAX;
	return point->receivers == 1 || (!one && point->receivers >= 1 && point->receivers <= BENCH_RECEIVERS_MAX);
}

/* A file can have any numbers. */
static bool point_measurable(const struct bench_options *options, const struct bench_point *point)
{
	bool still = bench_way_still(point->way);

	return point->senders >= 1 && point->senders <= BENCH_SENDERS_MAX && point->writers >= 1 &&
	       point->writers <= BENCH_WRITERS_MAX && point->senders * point->writers <= BENCH_STREAMS_MAX &&
	       (point->writers == 1 || point->way == BENCH_LIBRARY) && receivers_measurable(point) &&
	       (point->input ? options->input_file != NULL : point->size >= 2 && point->size <= RECORD_BYTES_MAX) &&
	       point->per_write <= PER_WRITE_MAX && point->rules <= BENCH_RULES_MAX && point->ring_bytes >= RING_MIN &&
	       point->ring_bytes <= RING_MAX && point->seconds <= SECONDS_MAX &&
	       (still || point->records || point->bytes || point->seconds) &&
	       (point->rate == 0 || (!point->input && !point->unify && point->records <= TIMED_RECORDS_MAX &&
				     point->bytes <= TIMED_RECORDS_MAX &&
				     point->rate <= TIMED_RECORDS_MAX / (point->seconds ? point->seconds : 1))) &&
	       (!point->sustain || (point->rate == 0 && !still && point->seconds >= SUSTAIN_MIN)) &&
	       point->warmup <= WINDOW_MAX && point->window <= WINDOW_MAX;
}

int bench_repeated_check(struct bench_options *options)
{
	const char *file = options->repeat_file;
	bool kafka = false;

	if (options->repeated->count == 0)
		return bench_failed(STATUS_FAILED, "--repeat %s: it has no results", file);
	if (options->receiver && receiver_parse(options->receiver, RECEIVER_PORT_DEFAULT, options->receiver_copy,
						&options->host, &options->port))
		return refuse("--receiver", options->receiver, RECEIVER_NEEDED);
	for (unsigned number = 0; number < options->repeated->count; number++) {
		const struct bench_point *point = &options->repeated->results[number].point;
		struct bench_options single = *options;

		single.base = *point;
		single.ways = (struct number_list){.values = {point->way}, .count = 1};
		single.sinks = (struct number_list){.values = {point->sink}, .count = 1};
		single.brokers = point->sink == BENCH_SINK_KAFKA ? options->brokers : NULL;
		if (!point_measurable(options, point))
			return bench_failed(STATUS_FAILED, "--repeat %s: its result %u can't be measured", file,
					    number + 1);
		if (point->drop_caches && access(BENCH_DROP_CACHES, W_OK))
			return refuse("--repeat", file, "only root can drop caches, by " BENCH_DROP_CACHES);
		kafka |= point->sink == BENCH_SINK_KAFKA;
		if (ways_check(&single) || (options->receiver && receiver_check(&single)) ||
		    (point->sink >= BENCH_SINK_KAFKA && sinks_check(&single)))
			return STATUS_WRONG;
	}
	if (options->brokers && !kafka)
		return refuse("--brokers", "--repeat", "it has no result of --sink kafka");
	return STATUS_OK;
}
