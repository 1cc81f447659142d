/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/arguments.h"
#include "tools/base/errors.h"
#include "app/program/findings.h"
#include "tools/base/terminal.h"
#include "tools/base/commands.h"
#include "tools/check/connect.h"

static const char usage[] =
	"usage: k2hft check [OPTION...] FILE...\n\n"
	"Checks configuration files: what is wrong, with file and line, and which keys have no effect.\n\n"
	"  -c, --connect also greets a sender's receivers; looks whether a receiver's ports are free, its\n"
	"                directories writable, and its modules there in one piece\n"
	"  -m, --mount DIR  also looks for files of the configuration below DIR, where it is to be mounted\n"
	"  -p, --print   prints the effective values as a configuration file; findings go to standard error\n"
	"  -q, --quiet   errors only\n"
	"  -s, --strict  a key without effect counts as an error\n"
	"      --table   prints all keys, tab-separated: section, key, type, unit, minimum, maximum, default,\n"
	"                effect, meaning\n"
	"  -h, --help    prints this\n\n"
	"Exit status: 0 nothing is wrong, 2 something is.\n";

struct check {
	bool connect, print, quiet, strict, table, help;
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
	(void)fputs(": ", check->output);
	colour_begin(check->output, error ? COLOUR_BAD : COLOUR_DOUBTFUL);
	(void)fputs(kinds[finding], check->output);
	colour_end(check->output);
	(void)fputs(": ", check->output);
	text_show(check->output, text, false);
	(void)fputc('\n', check->output);
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
	int status;

	check->errors = check->notes = 0;
	status = k2i_findings_collect(file, report, check, &settings);
	if (status < 0)
		report(check, K2I_FINDING_ERROR, file, 0, strerror(-status));
	if (status >= 0 && check->mount_point)
		check_mount_point(check, settings);
	if (status >= 0 && check->connect && !check->errors)
		k2i_check_connect(settings, file, report, check);
	if (status >= 0 && check->print && !check->errors && k2i_settings_print(settings, stdout))
		report(check, K2I_FINDING_ERROR, "standard output", 0, strerror(EIO));
	if (!check->quiet)
		(void)fprintf(check->output, "%s: %u error%s, %u without effect\n", settings ? settings->file : file,
			      check->errors, check->errors == 1 ? "" : "s", check->notes);
	k2i_settings_free(settings);
	return !check->errors && !(check->strict && check->notes);
}

#define AT(field) .at = offsetof(struct check, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("connect", 'c', FLAG, 0, AT(connect)),
	COMMAND_OPTION("mount", 'm', TEXT, 0, AT(mount_point), .needed = "a directory is needed"),
	COMMAND_OPTION("print", 'p', FLAG, 0, AT(print)),
	COMMAND_OPTION("quiet", 'q', FLAG, 0, AT(quiet)),
	COMMAND_OPTION("strict", 's', FLAG, 0, AT(strict)),
	COMMAND_OPTION("table", 0, FLAG, 0, AT(table)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

/* -1: go on; else the exit status. */
static int options_read(struct check *check, int argc, char **argv)
{
	static const struct command_options known = {"check", usage, settings, sizeof(settings) / sizeof(settings[0])};
	uint64_t given;
	int status = command_options_take(&known, check, argc, argv, &given);

	if (status || check->help)
		return status;
	if (check->print)
		check->output = stderr;
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
