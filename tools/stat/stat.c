/* SPDX-License-Identifier: MIT */
#include "tools/stat/screen.h"
#include "tools/stat/stat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/base/arguments.h"
#include "tools/base/errors.h"
#include "tools/base/terminal.h"
#include "tools/base/commands.h"

static const char usage[] =
	"usage: k2hft stat [OPTION...] [TARGET...]\n\n"
	"Says what became of records: of a receiver (HOST:CTLPORT), of a mount (its directory), of a ring\n"
	"(its file); without a target, of all that run on this host. The first line says whether all is\n"
	"well, else what waits, since when and why.\n\n"
	"  -i, --interval SECONDS  repeatedly, with rates: on a terminal in place, until q or ^C, and\n"
	"                          the largest backlog first; else a line each time\n"
	"  -n, --count N           this many times\n"
	"  -a, --all               counters that are 0, too\n"
	"      --json              the status as it comes, for programs\n"
	"      --metrics           counters in Prometheus's text format, of one target\n"
	"      --check             exit status 3 if a counter of losses is above 0\n"
	"      --timeout SECONDS   how long each target may take (5)\n"
	"      --table             prints all counters, tab-separated: of what, name, counter or gauge,\n"
	"                          loss or fine, meaning\n"
	"  -h, --help              prints this\n\n"
	"Exit status: 0; 1 a target could not be asked; 2 wrong arguments; 3 with --check: losses.\n";

struct options {
	uint64_t interval_s, count, timeout_s;
	bool all, json, metrics, check, table, help;
};

#define AT(field) .at = offsetof(struct options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("interval", 'i', NUMBER, 0, AT(interval_s), OPTION_RANGE(1, 86400)),
	COMMAND_OPTION("count", 'n', NUMBER, 0, AT(count), OPTION_RANGE(1, UINT64_MAX)),
	COMMAND_OPTION("all", 'a', FLAG, 0, AT(all)),
	COMMAND_OPTION("json", 0, FLAG, 0, AT(json)),
	COMMAND_OPTION("metrics", 0, FLAG, 0, AT(metrics)),
	COMMAND_OPTION("check", 0, FLAG, 0, AT(check)),
	COMMAND_OPTION("timeout", 0, NUMBER, 0, AT(timeout_s), OPTION_RANGE(1, 3600)),
	COMMAND_OPTION("table", 0, FLAG, 0, AT(table)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

static int usage_wrong(const char *text)
{
	command_error("stat", "%s", text);
	command_help_hint("stat");
	return STATUS_WRONG;
}

/* -1: go on; else the exit status. */
static int options_read(struct options *options, int argc, char **argv)
{
	static const struct command_options known = {"stat", usage, settings, sizeof(settings) / sizeof(settings[0])};
	uint64_t given;
	int status = command_options_take(&known, options, argc, argv, &given);

	if (status || options->help)
		return status;
	if (options->table && optind < argc)
		return usage_wrong("--table asks no target");
	if (options->table && argc > 2)
		return usage_wrong("--table stands alone");
	if (options->table)
		return k2i_counters_print(stdout) ? STATUS_FAILED : 0;
	if (options->json && options->metrics)
		return usage_wrong("--json or --metrics, not both");
	if (options->all && (options->json || options->metrics))
		return usage_wrong("--json and --metrics have all counters without --all");
	/* Once without an interval; for ever with one. */
	if (!options->interval_s && options->count > 1)
		options->interval_s = 1;
	if (!options->interval_s)
		options->count = 1;
	return -1;
}

static void target_forget(struct stat_target *target)
{
	json_free(target->before);
	target->before = target->now;
	target->asked_before_ns = target->asked_ns;
	target->now = NULL;
}

static double seconds_between(const struct stat_target *target)
{
	return (double)(target->asked_ns - target->asked_before_ns) / 1e9;
}

static void target_show(const struct options *options, const struct stat_target *target, const char *text)
{
	if (options->json)
		text_show(stdout, text, true);
	else if (options->metrics)
		stat_show_metrics(stdout, target->now);
	else if (options->interval_s)
		stat_show_line(stdout, target->name, target->now, options->all);
	else
		stat_show_table(stdout, target->name, target->now, target->before, seconds_between(target),
				options->all);
}

struct asking {
	const struct options *options;
	struct stat_target *targets;
};

static void target_ask(void *context, size_t number)
{
	const struct asking *asking = context;
	struct stat_target *target = &asking->targets[number];
	size_t at;

	target->text = stat_fetch(target->name, (int)asking->options->timeout_s * 1000, target->reason,
				  sizeof(target->reason));
	target_forget(target);
	target->asked_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	target->now = target->text ? json_parse(target->text, strlen(target->text), &at) : NULL;
	if (json_get(target->now, "program"))
		return;
	if (target->text)
		(void)snprintf(target->reason, sizeof(target->reason), "its answer is not a status");
	/* Rates do not begin from a status that was not read whole. */
	json_free(target->now);
	target->now = NULL;
}

/* The exit status that this target makes. */
static int target_status(const struct options *options, const struct stat_target *target)
{
	if (!target->now)
		return STATUS_FAILED;
	return options->check && stat_lossy(target->now) ? STATUS_FOUND : 0;
}

/* Unreachable counts more than losses: they can't be known. */
static int worse(int one, int other)
{
	if (one == STATUS_FAILED || other == STATUS_FAILED)
		return STATUS_FAILED;
	return one > other ? one : other;
}

static int targets_ask(const struct options *options, struct stat_target *targets, size_t count, bool shown)
{
	struct asking asking = {options, targets};
	int status = 0;

	stat_targets_ask(target_ask, &asking, count);
	for (size_t at = 0; at < count; at++) {
		struct stat_target *target = &targets[at];

		status = worse(status, target_status(options, target));
		if (shown && target->now)
			target_show(options, target, target->text);
		/* A message about a target stands where its table would. */
		(void)fflush(stdout);
		if (shown && !target->now)
			command_error("stat", "%s: %s", target->name, target->reason);
		free(target->text);
		target->text = NULL;
	}
	return status;
}

static int run_plain(const struct options *options, struct stat_target *targets, size_t count)
{
	struct timespec pause = {.tv_sec = (time_t)options->interval_s};
	uint64_t done = 0;
	int status = 0;

	for (;;) {
		status = worse(status, targets_ask(options, targets, count, true));
		/* A reader that is gone has had enough. */
		if (++done == options->count || ferror(stdout))
			return status;
		(void)nanosleep(&pause, NULL);
	}
}

/* A line for each, and below, as far as there is room, all that is known. */
static void frame_print(FILE *output, const struct options *options, const struct stat_target **targets, size_t count)
{
	stat_targets_sort(targets, count);
	stat_rows_show(output, targets, count, stat_screen_columns());
	for (size_t at = 0; at < count; at++) {
		const struct stat_target *target = targets[at];

		(void)fputs("\n", output);
		if (target->now) {
			stat_show_table(output, target->name, target->now, target->before, seconds_between(target),
					options->all);
			continue;
		}
		text_show(output, target->name, false);
		(void)fputs(": ", output);
		text_show(output, target->reason, false);
		(void)fputs("\n", output);
	}
}

/* To be free()d; NULL without memory. */
static char *frame_make(const struct options *options, const struct stat_target **targets, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *output = open_memstream(&text, &bytes);

	if (!output)
		return NULL;
	frame_print(output, options, targets, count);
	if (fclose(output) == 0)
		return text;
	free(text);
	return NULL;
}

/* Until it is time to ask again; false: the user has seen enough. */
static bool frame_stay(const struct options *options, const struct stat_target **targets, size_t count)
{
	uint64_t now_ns = k2i_clock_now_ns(), end_ns = now_ns + options->interval_s * K2I_SECOND_NS;
	enum stat_screen_event event = STAT_SCREEN_RESIZED;

	for (; now_ns < end_ns && event == STAT_SCREEN_RESIZED; now_ns = k2i_clock_now_ns()) {
		char *text = frame_make(options, targets, count);

		if (text)
			stat_screen_show(text);
		free(text);
		event = stat_screen_wait(end_ns - now_ns);
	}
	return event != STAT_SCREEN_QUIT && !ferror(stdout);
}

/* In place on the terminal. The last answer of those that were counted stays there. */
static int run_in_place(const struct options *options, struct stat_target *targets, size_t count)
{
	const struct stat_target **sorted = calloc(count, sizeof(*sorted));
	bool goes_on = sorted != NULL;
	uint64_t done = 0;
	int status = sorted ? 0 : STATUS_FAILED;
	char *text;

	for (size_t at = 0; goes_on && at < count; at++)
		sorted[at] = &targets[at];
	stat_screen_begin();
	while (goes_on) {
		status = worse(status, targets_ask(options, targets, count, false));
		if (++done == options->count)
			break;
		goes_on = frame_stay(options, sorted, count);
	}
	stat_screen_end();
	text = goes_on ? frame_make(options, sorted, count) : NULL;
	if (text)
		(void)fputs(text, stdout);
	free(text);
	free(sorted);
	return status;
}

static int run(const struct options *options, struct stat_target *targets, size_t count)
{
	bool in_place = options->interval_s && isatty(STDOUT_FILENO) && !options->json && !options->metrics;

	return in_place ? run_in_place(options, targets, count) : run_plain(options, targets, count);
}

/* Without arguments: all that this host has. */
static int targets_take(struct stat_targets *found, int argc, char **argv)
{
	if (optind < argc) {
		*found = (struct stat_targets){.names = argv + optind, .count = (size_t)(argc - optind)};
		return 0;
	}
	stat_targets_find(found);
	if (found->silent)
		command_error("stat",
			      "receivers of this host that can't be asked, as their configuration has no CTLPORT: %zu",
			      found->silent);
	if (found->count)
		return 0;
	if (!found->silent)
		command_error("stat", "no mount, receiver or sender that you may see runs on this host; name a target");
	return STATUS_FAILED;
}

int k2i_command_stat(int argc, char **argv)
{
	struct options options = {.timeout_s = 5};
	struct stat_targets found = {0};
	struct stat_target *targets;
	int status = options_read(&options, argc, argv);
	size_t at;

	if (status >= 0)
		return status;
	status = targets_take(&found, argc, argv);
	if (status)
		return status;
	if (options.metrics && found.count > 1)
		return usage_wrong("--metrics is of one target: names would come twice");
	targets = calloc(found.count, sizeof(*targets));
	if (!targets)
		return STATUS_FAILED;
	for (at = 0; at < found.count; at++)
		targets[at].name = found.names[at];
	status = run(&options, targets, found.count);
	for (at = 0; at < found.count; at++) {
		json_free(targets[at].now);
		json_free(targets[at].before);
	}
	free(targets);
	if (optind >= argc)
		stat_targets_free(&found);
	return status;
}
