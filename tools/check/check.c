/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/base/errors.h"
#include "app/format/format.h"
#include "app/rules/hosts.h"
#include "app/rules/rules.h"
#include "config/settings.h"
#include "tools/base/terminal.h"
#include "tools/base/commands.h"

static const char usage[] =
	"usage: k2hft check [OPTION...] FILE...\n\n"
	"Checks configuration files: what is wrong, with file and line, and which keys have no effect.\n\n"
	"  -m, --mount DIR  also looks for files of the configuration below DIR, where it is to be mounted\n"
	"  -p, --print   prints the effective values as a configuration file; findings go to standard error\n"
	"  -q, --quiet   errors only\n"
	"  -s, --strict  a key without effect counts as an error\n"
	"      --table   prints all keys, tab-separated: section, key, type, unit, minimum, maximum, default,\n"
	"                effect, meaning\n"
	"  -h, --help    prints this\n\n"
	"Exit status: 0 nothing is wrong, 2 something is.\n";

enum { OPTION_TABLE = 256 };

struct check {
	bool print, quiet, strict, table;
	const char *mount_point;
	FILE *output; /* of findings */
	unsigned errors, notes;
};

static void report(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	static const char *const kinds[] = {
		[K2I_FINDING_ERROR] = "error",
		[K2I_FINDING_WITHOUT_EFFECT] = "note",
		[K2I_FINDING_WARNING] = "warning",
	};
	struct check *check = argument;
	bool error = finding == K2I_FINDING_ERROR;

	check->errors += error;
	check->notes += finding == K2I_FINDING_WITHOUT_EFFECT;
	if (!error && check->quiet && !check->strict)
		return;
	text_show(check->output, file, false);
	if (line)
		(void)fprintf(check->output, ":%u", line);
	(void)fprintf(check->output, ": %s: ", kinds[finding]);
	text_show(check->output, text, false);
	(void)fputc('\n', check->output);
}

/* Whether %T is in it. */
static bool check_format(struct check *check, const char *format, const char *time_format,
			 const struct k2i_place *place)
{
	struct k2i_format *compiled = NULL;
	char message[512] = "";
	bool has_time = false;

	if (k2i_format_compile(format, time_format, &compiled, message, sizeof(message)))
		report(check, K2I_FINDING_ERROR, place->file, place->line, message);
	else
		has_time = k2i_format_has_time(compiled);
	k2i_format_free(compiled);
	return has_time;
}

static void check_unify(struct check *check, const struct k2i_settings *settings)
{
	const struct k2i_place *place = &settings->unify_place;
	const char *refused = k2i_format_unify_check(settings->unify_file, (uint64_t)time(NULL) * 1000000000u);
	char text[128];

	if (!refused)
		return;
	(void)snprintf(text, sizeof(text), "FILE_UNIFY %s", refused);
	report(check, K2I_FINDING_ERROR, place->file, place->line, text);
}

static void check_output(struct check *check, const struct k2i_settings *settings)
{
	const struct k2i_place *format = &settings->format_place, *time_format = &settings->time_format_place;
	bool has_time = format->file && check_format(check, settings->format, NULL, format);

	if (settings->time_format && time_format->file)
		check_format(check, "%T", settings->time_format, time_format);
	if (settings->time_format && time_format->file && !has_time && !check->errors)
		report(check, K2I_FINDING_WITHOUT_EFFECT, time_format->file, time_format->line,
		       "FILE_TIMEFORM has no effect: there is no %T in FORMAT");
	if (has_time && !settings->time_format)
		report(check, K2I_FINDING_WITHOUT_EFFECT, format->file, format->line,
		       "%T in FORMAT has no effect: there is no FILE_TIMEFORM");
	if (settings->unify_file && settings->unify_place.file)
		check_unify(check, settings);
}

/* Compiles a file of one rule. Its first error is all that it has, so the place in the message is known beforehand. */
static void check_rule(struct check *check, struct k2i_rule *rule, const struct k2i_place *place)
{
	const struct k2i_settings one = {.file = (char *)(uintptr_t)place->file, .rules = rule, .rule_count = 1};
	struct k2i_rules *rules = NULL;
	char message[1024] = "", begin[4200];
	int begin_bytes = snprintf(begin, sizeof(begin), "%s:%u: ", place->file, place->line);

	if (k2i_rules_compile(&one, &rules, message, sizeof(message)) == 0)
		k2i_rules_free(rules);
	else
		report(check, K2I_FINDING_ERROR, place->file, place->line,
		       strncmp(message, begin, (size_t)begin_bytes) == 0 ? message + begin_bytes : message);
}

/* Sections are compiled one at a time, since the compiler of rules stops at the first error. */
static void check_patterns(struct check *check, const struct k2i_rule *rule)
{
	struct k2i_pattern *pattern = rule->default_allow ? rule->deny : rule->allow;
	const struct k2i_pattern *end = pattern + (rule->default_allow ? rule->deny_count : rule->allow_count);
	struct k2i_rule one = *rule;

	one.allow_count = one.deny_count = 0;
	if (one.target && *one.target)
		check_rule(check, &one, &rule->place);
	one.directory = true;
	one.target = NULL;
	*(rule->default_allow ? &one.deny_count : &one.allow_count) = 1;
	for (; pattern < end; pattern++) {
		*(rule->default_allow ? &one.deny : &one.allow) = pattern;
		check_rule(check, &one, &pattern->place);
	}
}

static void check_senders(struct check *check, const struct k2i_settings *settings)
{
	struct k2i_hosts *hosts = NULL;

	if (settings->receiver_present && k2i_hosts_compile(settings, report, check, &hosts) == -ENOMEM)
		report(check, K2I_FINDING_ERROR, settings->file, 0, strerror(ENOMEM));
	k2i_hosts_free(hosts);
}

/* Files that the mount would open by way of itself. */
static void check_mount_point(struct check *check, const struct k2i_settings *settings)
{
	char resolved[PATH_MAX], text[PATH_MAX + 100];
	const char *below = NULL;

	if (!realpath(check->mount_point, resolved))
		(void)snprintf(text, sizeof(text), "%s: %s", check->mount_point, strerror(errno));
	else if ((below = k2i_settings_below(settings, resolved)))
		(void)snprintf(text, sizeof(text), K2I_BELOW_TEXT, below);
	else
		return;
	report(check, K2I_FINDING_ERROR, settings->file, 0, text);
}

static bool check_file(struct check *check, const char *file)
{
	struct k2i_settings *settings = NULL;
	const struct k2i_rule *rule;
	int status;

	check->errors = check->notes = 0;
	status = k2i_settings_check(file, report, check, &settings);
	if (status < 0) {
		report(check, K2I_FINDING_ERROR, file, 0, strerror(-status));
	} else {
		for (rule = settings->rules; rule < settings->rules + settings->rule_count; rule++)
			check_patterns(check, rule);
		check_senders(check, settings);
		check_output(check, settings);
		if (check->mount_point)
			check_mount_point(check, settings);
		if (check->print && !check->errors && k2i_settings_print(settings, stdout))
			report(check, K2I_FINDING_ERROR, "standard output", 0, strerror(EIO));
	}
	if (!check->quiet)
		(void)fprintf(check->output, "%s: %u error%s, %u without effect\n", settings ? settings->file : file,
			      check->errors, check->errors == 1 ? "" : "s", check->notes);
	k2i_settings_free(settings);
	return !check->errors && !(check->strict && check->notes);
}

static int options_read(struct check *check, int argc, char **argv)
{
	static const struct option options[] = {
		{"mount", required_argument, NULL, 'm'},
		{"print", no_argument, NULL, 'p'},
		{"quiet", no_argument, NULL, 'q'},
		{"strict", no_argument, NULL, 's'},
		{"table", no_argument, NULL, OPTION_TABLE},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "m:pqsh", options, NULL)) != -1) {
		switch (option) {
		case 'm':
			check->mount_point = optarg;
			break;
		case 'p':
			check->print = true;
			check->output = stderr;
			break;
		case 'q':
			check->quiet = true;
			break;
		case 's':
			check->strict = true;
			break;
		case OPTION_TABLE:
			check->table = true;
			break;
		case 'h':
			return fputs(usage, stdout) < 0 ? STATUS_FAILED : 0;
		default:
			command_help_hint("check");
			return STATUS_WRONG;
		}
	}
	if (check->table && argc == 2)
		return k2i_settings_table_print(stdout) ? STATUS_FAILED : 0;
	if (!check->table && optind < argc)
		return -1;
	command_error("check", !check->table    ? "a file is needed"
			       : optind == argc ? "--table stands alone"
						: "--table checks no file");
	command_help_hint("check");
	return STATUS_WRONG;
}

int k2i_command_check(int argc, char **argv)
{
	struct check check = {.output = stdout};
	int status = options_read(&check, argc, argv);

	if (status >= 0)
		return status;
	status = 0;
	for (; optind < argc; optind++)
		if (!check_file(&check, argv[optind]))
			status = STATUS_WRONG;
	return status;
}
