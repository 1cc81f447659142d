/* SPDX-License-Identifier: MIT */
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
	"  -i, --interval SECONDS  repeatedly, with rates; in place on a terminal, else a line each time\n"
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

struct target {
	const char *name;
	struct json_value *now, *before;
	uint64_t asked_ns, asked_before_ns;
};

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

static void target_forget(struct target *target)
{
	json_free(target->before);
	target->before = target->now;
	target->asked_before_ns = target->asked_ns;
	target->now = NULL;
}

static void target_show(const struct options *options, struct target *target, const char *text)
{
	double seconds = (double)(target->asked_ns - target->asked_before_ns) / 1e9;

	if (options->json)
		text_show(stdout, text, true);
	else if (options->metrics)
		stat_show_metrics(stdout, target->now);
	else if (options->interval_s && !isatty(STDOUT_FILENO))
		stat_show_line(stdout, target->name, target->now, options->all);
	else
		stat_show_table(stdout, target->name, target->now, target->before, seconds, options->all);
}

/* The exit status that this target makes. */
static int target_ask(const struct options *options, struct target *target)
{
	char reason[STAT_REASON_ROOM], *text;
	int status = 0;
	size_t at;

	text = stat_fetch(target->name, (int)options->timeout_s * 1000, reason, sizeof(reason));
	if (!text)
		return command_failed(STATUS_FAILED, "stat", "%s: %s", target->name, reason);
	target_forget(target);
	target->asked_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	target->now = json_parse(text, strlen(text), &at);
	if (!json_get(target->now, "program")) {
		command_error("stat", "%s: its answer is not a status", target->name);
		/* Rates do not begin from a status that was not read whole. */
		json_free(target->now);
		target->now = NULL;
		status = STATUS_FAILED;
	} else {
		target_show(options, target, text);
		if (options->check && stat_lossy(target->now))
			status = STATUS_FOUND;
	}
	free(text);
	return status;
}

/* Unreachable counts more than losses: they can't be known. */
static int worse(int one, int other)
{
	if (one == STATUS_FAILED || other == STATUS_FAILED)
		return STATUS_FAILED;
	return one > other ? one : other;
}

static int targets_ask(const struct options *options, struct target *targets, size_t count)
{
	bool in_place = options->interval_s && isatty(STDOUT_FILENO) && !options->json && !options->metrics;
	int status = 0;
	size_t at;

	if (in_place)
		(void)fputs("\033[H\033[J", stdout);
	for (at = 0; at < count; at++) {
		/* Before what standard error has of a target: the same terminal shows both, and would be cleared of it. */
		(void)fflush(stdout);
		status = worse(status, target_ask(options, &targets[at]));
	}
	(void)fflush(stdout);
	return status;
}

static int run(const struct options *options, struct target *targets, size_t count)
{
	struct timespec pause = {.tv_sec = (time_t)options->interval_s};
	uint64_t done = 0;
	int status = 0;

	for (;;) {
		status = worse(status, targets_ask(options, targets, count));
		/* A reader that is gone has had enough. */
		if (++done == options->count || ferror(stdout))
			return status;
		(void)nanosleep(&pause, NULL);
	}
}

/* Without arguments: all that this host has. */
static int targets_take(struct stat_targets *found, int argc, char **argv)
{
	if (optind < argc) {
		*found = (struct stat_targets){.names = argv + optind, .count = (size_t)(argc - optind)};
		return 0;
	}
	stat_targets_find(found);
	if (found->count)
		return 0;
	command_error("stat", "no mount, receiver or sender that you may see runs on this host; name a target");
	return STATUS_FAILED;
}

int k2i_command_stat(int argc, char **argv)
{
	struct options options = {.timeout_s = 5};
	struct stat_targets found = {0};
	struct target *targets;
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
