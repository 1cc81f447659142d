/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/program/reload.h"
#include "base/clock.h"
#include "config/path.h"
#include "config/settings.h"
#include "tools/base/arguments.h"
#include "tools/base/commands.h"
#include "tools/base/errors.h"
#include "tools/base/json.h"
#include "tools/stat/stat.h"

#define PAUSE_NS 50000000L

static const char usage[] =
	"usage: k2hft reload [OPTION...] TARGET...\n\n"
	"Has a receiver or a mount read its configuration again, and waits for what becomes of it: all of it is\n"
	"in use, or nothing has changed. TARGET is a mount (its directory), or a receiver on this host:\n"
	"HOST:CTLPORT, its FILE_BASEDIR or STATEDIR, or its configuration file.\n\n"
	"      --timeout SECONDS   how long to wait for each (30)\n"
	"  -q, --quiet             says nothing of what went well\n"
	"  -h, --help              prints this\n\n"
	"Exit status: 0 reloaded; 1 not reloaded, what is wrong is said with file and line; 2 wrong arguments.\n";

struct options {
	uint64_t timeout_s;
	bool quiet, help;
};

#define AT(field) .at = offsetof(struct options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("timeout", 0, NUMBER, 0, AT(timeout_s), OPTION_RANGE(1, 3600)),
	COMMAND_OPTION("quiet", 'q', FLAG, 0, AT(quiet)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

struct target {
	const char *name;
	char file[PATH_MAX]; /* in which a receiver says what became of it; "": its status does */
};

/* A target's process, and the outcome of its last reload. */
struct answer {
	bool mount;
	uint64_t pid, begun, done;
	char file[1024], error[1024];
};

/* Answers --------------------------------------------------------------------------------------------------------- */

static uint64_t number_of(const struct json_value *object, const char *name)
{
	const struct json_value *member = json_get(object, name);

	return member && member->text ? strtoull(member->text, NULL, 10) : 0;
}

static const char *text_of(const struct json_value *object, const char *name)
{
	const struct json_value *member = json_get(object, name);

	return member && member->text ? member->text : "";
}

static char *file_fetch(const char *path, char *reason, size_t room)
{
	FILE *file = fopen(path, "re");
	char *text = file ? stat_answer_read(fileno(file), -1) : NULL;

	if (!text)
		(void)snprintf(reason, room, "%s", strerror(errno));
	if (file)
		(void)fclose(file);
	return text;
}

/* 0, or STATUS_FAILED, which was said. */
static int answer_get(const struct target *target, uint64_t timeout_s, struct answer *answer)
{
	char reason[STAT_REASON_ROOM] = "", *text;
	const struct json_value *reload;
	struct json_value *status;
	size_t at;

	text = target->file[0] ? file_fetch(target->file, reason, sizeof(reason))
			       : stat_fetch(target->name, (int)timeout_s * 1000, reason, sizeof(reason));
	if (!text)
		return command_failed(STATUS_FAILED, "reload", "%s: %s", target->name, reason);
	status = json_parse(text, strlen(text), &at);
	free(text);
	reload = json_get(status, "reload");
	if (!reload) {
		command_error("reload", "%s: it is neither a receiver nor a mount that can reload", target->name);
		json_free(status);
		return STATUS_FAILED;
	}
	answer->mount = strcmp(text_of(status, "program"), "k2hftfuse") == 0;
	answer->pid = number_of(status, answer->mount ? "keeper_pid" : "pid");
	answer->begun = number_of(reload, "begun");
	answer->done = number_of(reload, "done");
	(void)snprintf(answer->file, sizeof(answer->file), "%s", text_of(reload, "file"));
	(void)snprintf(answer->error, sizeof(answer->error), "%s", text_of(reload, "error"));
	json_free(status);
	return 0;
}

/* Targets --------------------------------------------------------------------------------------------------------- */

static bool file_in(struct target *target, const char *directory)
{
	static const char *const places[] = {"/" K2I_RELOAD_NAME, "/" K2I_STATE_NAME "/" K2I_RELOAD_NAME};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(target->file, sizeof(target->file), "%s%s", directory, places[i]) < PATH_MAX &&
		    access(target->file, F_OK) == 0)
			return true;
	}
	target->file[0] = '\0';
	return false;
}

struct first_error {
	char text[1024];
};

static void finding_take(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	struct first_error *first = argument;

	if (finding == K2I_FINDING_ERROR && !first->text[0])
		(void)snprintf(first->text, sizeof(first->text), "%s:%u: %s", file, line, text);
}

/* A receiver's configuration, which may be broken: it is asked all the same, if the file says where it is. */
static int config_resolve(struct target *target)
{
	struct first_error first = {""};
	struct k2i_settings *read = NULL;
	const char *directory;
	int status = k2i_settings_check(target->name, finding_take, &first, &read);

	if (status < 0)
		return command_failed(STATUS_FAILED, "reload", "%s: %s", target->name, strerror(-status));
	directory = read->state_directory ? read->state_directory : read->base_directory;
	status = directory && file_in(target, directory) ? 0 : STATUS_FAILED;
	if (status)
		command_error("reload", "%s: %s", target->name,
			      first.text[0] ? first.text : "no receiver with this configuration has run here");
	k2i_settings_free(read);
	return status;
}

static int target_resolve(struct target *target)
{
	struct stat status;

	if (stat(target->name, &status) < 0)
		return 0; /* HOST:CTLPORT, or stat_fetch says what is wrong */
	if (S_ISDIR(status.st_mode)) {
		(void)file_in(target, target->name);
		return 0;
	}
	return config_resolve(target);
}

/* Asking ---------------------------------------------------------------------------------------------------------- */

/* Another program has the number, or the target is in a container: nothing is sent to it. */
static bool is_program(const struct answer *answer)
{
	char path[64], name[32] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", answer->pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		(void)fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return answer->pid > 0 && strcmp(name, answer->mount ? "k2hftfuse" : "k2hftfusesvr") == 0;
}

static int target_ask(const struct target *target, const struct answer *before)
{
	int number = before->mount ? SIGUSR1 : SIGHUP;

	if (!is_program(before))
		return command_failed(STATUS_FAILED, "reload",
				      "%s: its process %" PRIu64 " does not run here: send %s to it where it does",
				      target->name, before->pid, before->mount ? "SIGUSR1" : "SIGHUP");
	if (kill((pid_t)before->pid, number))
		return command_failed(STATUS_FAILED, "reload", "%s: process %" PRIu64 ": %s", target->name, before->pid,
				      strerror(errno));
	return 0;
}

/* A reload that had begun before may have read the former file. */
static int target_await(const struct target *target, const struct answer *before, uint64_t timeout_s,
			struct answer *after)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t end_ns = k2i_clock_now_ns() + timeout_s * K2I_SECOND_NS;
	int status;

	do {
		(void)nanosleep(&pause, NULL);
		status = answer_get(target, timeout_s, after);
		if (status || after->done > before->begun)
			return status;
	} while (k2i_clock_now_ns() < end_ns);
	return command_failed(STATUS_FAILED, "reload", "%s: no answer in %" PRIu64 " s: it may still reload",
			      target->name, timeout_s);
}

static int target_reload(const struct options *options, const char *name)
{
	struct target target = {.name = name};
	struct answer before, after;
	int status = target_resolve(&target);

	if (!status)
		status = answer_get(&target, options->timeout_s, &before);
	if (!status)
		status = target_ask(&target, &before);
	if (!status)
		status = target_await(&target, &before, options->timeout_s, &after);
	if (status)
		return status;
	if (after.error[0])
		return command_failed(STATUS_FAILED, "reload", "%s: not reloaded, nothing has changed: %s", name,
				      after.error);
	if (!options->quiet)
		(void)printf("%s: reloaded: %s is in use\n", name, after.file);
	return 0;
}

int k2i_command_reload(int argc, char **argv)
{
	static const struct command_options known = {"reload", usage, settings, sizeof(settings) / sizeof(settings[0])};
	struct options options = {.timeout_s = 30};
	uint64_t given;
	int status = command_options_take(&known, &options, argc, argv, &given);

	if (status || options.help)
		return status;
	if (optind == argc) {
		command_error("reload", "no TARGET was given: k2hft stat shows what runs here");
		command_help_hint("reload");
		return STATUS_WRONG;
	}
	for (int at = optind; at < argc; at++) {
		if (target_reload(&options, argv[at]))
			status = STATUS_FAILED;
	}
	return status;
}
