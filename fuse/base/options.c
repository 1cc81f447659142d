/* SPDX-License-Identifier: MIT */
#include "fuse/base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/program/daemon.h"
#include "base/nearest.h"

#define PROGRAM "k2hftfuse"

enum { KEY_REMOUNT };

/* FUSE_OPT_KEY, whose -1U clang refuses under -Wconversion. */
#define OPTION_KEY(template, key)                                                                                      \
	{                                                                                                              \
		template, UINT32_MAX, key                                                                              \
	}
#define OPTION(template, field, value)                                                                                 \
	{                                                                                                              \
		template, offsetof(struct k2i_mount_options, field), value                                             \
	}

static const struct fuse_opt option_table[] = {
	OPTION("conf=%s", config, 0),
	OPTION("dbglevel=%s", log_level_text, 0),
	OPTION("umask=%s", umask_text, 0),
	OPTION("uid=%s", uid_text, 0),
	OPTION("gid=%s", gid_text, 0),
	OPTION("allow_other", allow_other, 1),
	OPTION_KEY("allow_other", FUSE_OPT_KEY_KEEP),
	OPTION("allow_root", allow_root, 1),
	OPTION_KEY("allow_root", FUSE_OPT_KEY_KEEP),
	OPTION("-f", foreground, 1),
	OPTION("-d", debug, 1),
	OPTION("--debug", debug, 1),
	OPTION("debug", debug, 1),
	OPTION("-h", help, 1),
	OPTION("--help", help, 1),
	OPTION("-v", version, 1),
	OPTION("-V", version, 1),
	OPTION("--version", version, 1),
	OPTION("--leave=%u", leave, 0),
	/* K2HFTFUSE's: there is no chmpx to run. */
	OPTION("enable_run_chmpx", without_effect, 1),
	OPTION("disable_run_chmpx", without_effect, 0),
	OPTION("chmpxlog=%s", ignored_text, 0),
	OPTION("json=%s", json, 0),
	OPTION_KEY("remount", KEY_REMOUNT),
	FUSE_OPT_END,
};

/* Options without effect; those that end in = have a value. */
static const char options_ignored[] =
	/* A single thread serves; mount(8) and fstab(5) say others to themselves. */
	"-s clone_fd max_idle_threads= max_threads= defaults auto noauto user user= nouser users owner group "
	"_netdev nofail relatime norelatime strictatime nostrictatime lazytime nolazytime diratime nodiratime "
	"comment= "
	/*
	 * K2HFTFUSE handed these on to libfuse 2, and there is nothing here that they could tune. Version 3 has but
	 * max_read, and ends the session over it.
	 */
	"ac_attr_timeout= async_read attr_timeout= auto_cache big_writes congestion_threshold= direct_io "
	"entry_timeout= hard_remove intr intr_signal= kernel_cache large_read max_background= max_read= "
	"max_readahead= max_write= negative_timeout= noauto_cache noforget nonempty nopath readdir_ino "
	"remember= sync_read use_ino ";

static bool option_is_ignored(const char *option)
{
	size_t bytes = strcspn(option, "="), name_bytes;

	bytes += option[bytes] == '=';
	for (const char *name = options_ignored; *name; name += name_bytes + 1) {
		name_bytes = strcspn(name, " ");
		if (name_bytes == bytes && strncmp(option, name, bytes) == 0)
			return true;
	}
	return false;
}

static int word_take(struct k2i_mount_options *options, const char *word)
{
	char *copy;

	if (options->mount_point && options->source) {
		fprintf(stderr, PROGRAM ": %s: one mount point, please\n", word);
		return -1;
	}
	copy = strdup(word);
	if (!copy)
		return -1;
	options->source = options->mount_point;
	options->mount_point = copy;
	return 0;
}

/* Stored without the value that it may take; false: none is near. */
static bool option_nearest(const char *argument, char nearest[K2I_OPTION_ROOM])
{
	unsigned best_distance = K2I_NEAREST_NONE;
	const struct fuse_opt *option;
	const char *best = NULL;
	char given[K2I_OPTION_ROOM], known[K2I_OPTION_ROOM];

	(void)snprintf(given, sizeof(given), "%.*s", (int)strcspn(argument, "="), argument);
	for (option = option_table; option->templ; option++) {
		const char *before = best;

		(void)snprintf(known, sizeof(known), "%.*s", (int)strcspn(option->templ, "="), option->templ);
		k2i_nearest_consider(given, known, &best, &best_distance);
		if (best != before)
			best = option->templ;
	}
	if (best)
		(void)snprintf(nearest, K2I_OPTION_ROOM, "%.*s", (int)strcspn(best, "%"), best);
	return best;
}

static int argument_take(void *data, const char *argument, int key, struct fuse_args *args)
{
	struct k2i_mount_options *options = data;
	char nearest[K2I_OPTION_ROOM];
	bool near;

	(void)args;
	switch (key) {
	case KEY_REMOUNT:
		fprintf(stderr, PROGRAM ": remount: a mount that is there is changed by mount -i -o remount\n");
		return -1;
	case FUSE_OPT_KEY_NONOPT:
		return word_take(options, argument);
	default:
		if (option_is_ignored(argument))
			return 0;
		near = option_nearest(argument, nearest);
		if (argument[0] == '-') {
			fprintf(stderr, PROGRAM ": unknown option %s; %s%s\n", argument,
				near ? "did you mean " : PROGRAM " -h lists them", near ? nearest : "");
			return -1;
		}
		/* It can also be an option of libfuse. */
		if (near)
			memcpy(options->nearest, nearest, sizeof(nearest));
		return strncmp(argument, "x-", 2) == 0 || strncmp(argument, "X-", 2) == 0 ? 0 : 1;
	}
}

static int option_add(struct k2i_mount_options *options, const char *option, const char *value)
{
	char text[512];

	/* fsname and subtype are separated by a comma from what follows. */
	(void)snprintf(text, sizeof(text), "-o%s%s", option, value);
	for (char *at = text + strlen(option) + 2; *value && *at; at++) {
		if (*at == ',' || *at == '\\')
			*at = '_';
	}
	/* In front, so that the user's own come later and count. */
	return fuse_opt_insert_arg(&options->args, 1, text) ? -ENOMEM : 0;
}

static int level_check(struct k2i_mount_options *options)
{
	const char *text = options->log_level_text, *level = getenv("K2HFTDBGMODE");

	options->level = K2HFT_LOG_INFO;
	if (!text && level && *level)
		text = level;
	if (text && k2i_daemon_level_parse(text, &options->level)) {
		fprintf(stderr, PROGRAM ": dbglevel=%s: it is one of silent, err, wan, msg, dump\n", text);
		return -EINVAL;
	}
	if (options->debug)
		options->level = K2HFT_LOG_DEBUG;
	return 0;
}

static int config_check(struct k2i_mount_options *options)
{
	const char *file = getenv("K2HFTCONFFILE"), *json = getenv("K2HFTJSONCONF");
	const char *config = file && *file ? file : json;

	if (options->config && options->json) {
		fprintf(stderr, PROGRAM ": conf, json: they exclude each other: there is one configuration\n");
		return -EINVAL;
	}
	if (options->json) {
		options->config = options->json;
		options->json = NULL;
	}
	if (!options->config && config && *config) {
		options->config = strdup(config);
		if (!options->config)
			return -ENOMEM;
	}
	if (!options->config) {
		fprintf(stderr, PROGRAM ": no configuration: -o conf=FILE, or K2HFTCONFFILE in the environment%s%s\n",
			*options->nearest ? "; did you mean " : "", options->nearest);
		return -EINVAL;
	}
	return 0;
}

/* All of `text`: libfuse would take 0o77 for 0. Without one `*number` stays as it is. */
static int number_take(const char *name, const char *text, bool octal, unsigned most, unsigned *number, bool *set)
{
	unsigned long long value;
	char *end;

	*set = text != NULL;
	if (!text)
		return 0;
	errno = 0;
	value = strtoull(text, &end, octal ? 8 : 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value > most) {
		fprintf(stderr,
			octal ? PROGRAM ": %s=%s: it is an octal number of at most %o\n"
			      : PROGRAM ": %s=%s: it is a number of at most %u\n",
			name, text, most);
		return -EINVAL;
	}
	*number = (unsigned)value;
	return 0;
}

static int numbers_take(struct k2i_mount_options *options)
{
	int status = number_take("umask", options->umask_text, true, 0777, &options->umask_bits, &options->umask_set);

	/* The largest number is nobody's: chown(2) takes it for no change. */
	if (status == 0)
		status = number_take("uid", options->uid_text, false, UINT32_MAX - 1, &options->uid_number,
				     &options->uid_set);
	if (status == 0)
		status = number_take("gid", options->gid_text, false, UINT32_MAX - 1, &options->gid_number,
				     &options->gid_set);
	return status;
}

static int options_prepare(struct k2i_mount_options *options)
{
	int status;

	options->umask_bits = umask(0);
	(void)umask(options->umask_bits);
	if (numbers_take(options))
		return -EINVAL;
	if (options->allow_other && options->allow_root) {
		fprintf(stderr,
			PROGRAM ": allow_other, allow_root: they exclude each other: allow_other lets root in, too\n");
		return -EINVAL;
	}
	if (!options->mount_point) {
		fprintf(stderr, PROGRAM ": where to mount? " PROGRAM " MNT -o conf=FILE\n");
		return -EINVAL;
	}
	if (options->debug)
		options->foreground = 1;
	status = level_check(options);
	if (status == 0)
		status = config_check(options);
	if (status == 0)
		status = option_add(options, "default_permissions", "");
	if (status == 0)
		status = option_add(options, "subtype=", PROGRAM);
	if (status == 0)
		status = option_add(options, "fsname=", options->source ? options->source : PROGRAM);
	if (status == 0 && options->debug)
		status = option_add(options, "debug", "");
	return status;
}

/* A comma of JSON that was escaped twice, as the tests of K2HFTFUSE do it: libfuse takes one of the two off. */
static void commas_unescape(char *argument)
{
	char *to = argument;
	size_t backslashes;

	if (!strstr(argument, "json=") && !strstr(argument, "conf={"))
		return;
	while (*argument) {
		backslashes = strspn(argument, "\\");
		if (backslashes == 2 && argument[2] == ',') {
			argument++;
			backslashes = 1;
		}
		backslashes += argument[backslashes] != '\0';
		memmove(to, argument, backslashes);
		to += backslashes;
		argument += backslashes;
	}
	*to = '\0';
}

int k2i_mount_options_parse(int argc, char **argv, struct k2i_mount_options *options)
{
	memset(options, 0, sizeof(*options));
	for (int number = 1; number < argc; number++)
		commas_unescape(argv[number]);
	options->args = (struct fuse_args)FUSE_ARGS_INIT(argc, argv);
	if (fuse_opt_parse(&options->args, options, option_table, argument_take))
		return -EINVAL;
	if (options->help || options->version || options->leave)
		return 0;
	return options_prepare(options);
}

void k2i_mount_options_free(struct k2i_mount_options *options)
{
	fuse_opt_free_args(&options->args);
	free(options->source);
	free(options->mount_point);
	free(options->config);
	free(options->json);
	free(options->log_level_text);
	free(options->umask_text);
	free(options->uid_text);
	free(options->gid_text);
	free(options->ignored_text);
}

void k2i_mount_options_help(void)
{
	printf("usage: " PROGRAM " [SOURCE] MNT -o conf=FILE[,OPTION...] [-f] [-d]\n"
	       "       mount -t fuse." PROGRAM " " PROGRAM " MNT -o conf=FILE[,OPTION...]\n"
	       "Mounts MNT: what is written to the files below it is sent to a receiver.\n"
	       "\n"
	       "  -o conf=FILE        configuration, k2hft.conf(5); or K2HFTCONFFILE in the environment\n"
	       "  -o json=TEXT        the configuration itself, as JSON; or K2HFTJSONCONF\n"
	       "  -o umask=OCTAL      permissions that files and directories do not have\n"
	       "  -o uid=N, gid=N     owner of all files\n"
	       "  -o dbglevel=LEVEL   silent, err, wan, msg (default), dump\n"
	       "  -f                  stay in the foreground\n"
	       "  -d                  the same, and shows the requests of the kernel other than writes\n"
	       "  --leave=PID         for ExecStop= of a unit: the keeper PID leaves its mount to the next one\n"
	       "  -h, -V              this; the version\n"
	       "\n"
	       "Options of FUSE and of mount(8):\n");
	fuse_lowlevel_help();
}
