/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/program/daemon.h"
#include "base/nearest.h"

enum option { OPTION_CONFIG, OPTION_LEVEL, OPTION_LISTEN, OPTION_JSON, OPTION_HELP, OPTION_VERSION };

/* The names of options; K2HFTFUSE has those with one dash. */
static const struct {
	const char *name;
	enum option option;
	bool wants_value;
} names[] = {
	{"--config", OPTION_CONFIG, true},    {"-conf", OPTION_CONFIG, true},    {"--conf", OPTION_CONFIG, true},
	{"-d", OPTION_LEVEL, true},           {"-g", OPTION_LEVEL, true},        {"-dbg", OPTION_LEVEL, true},
	{"--debug", OPTION_LEVEL, true},      {"--listen", OPTION_LISTEN, true}, {"-json", OPTION_JSON, true},
	{"-h", OPTION_HELP, false},           {"-help", OPTION_HELP, false},     {"--help", OPTION_HELP, false},
	{"-v", OPTION_VERSION, false},        {"-ver", OPTION_VERSION, false},   {"-version", OPTION_VERSION, false},
	{"--version", OPTION_VERSION, false},
};

void k2i_options_usage(void)
{
	(void)puts("usage: k2hftfusesvr -conf FILE [-d LEVEL] [--listen ADDRESS:PORT]\n"
		   "Receives records of k2hft senders and writes them to files.\n"
		   "\n"
		   "  -conf FILE, --config FILE   configuration, else environment variable K2HFTSVRCONFFILE\n"
		   "  -json TEXT                  the configuration itself, as JSON, else K2HFTSVRJSONCONF\n"
		   "  -d LEVEL, --debug LEVEL     messages up to: silent, err, wan, msg (default), dump;\n"
		   "                              else environment variable K2HFTDBGMODE\n"
		   "  --listen ADDRESS:PORT       instead of what the configuration says; port 0: any\n"
		   "  -h, --help                  this\n"
		   "  -v, --version               version\n"
		   "\n"
		   "Messages go to standard error, or to the file that K2HFTDBGFILE names.\n"
		   "Signals: TERM, INT end; HUP opens output files anew and reloads the configuration;\n"
		   "USR1 writes counters.\n"
		   "See k2hftfusesvr(8).");
}

static int option_refuse(const char *format, const char *text)
{
	(void)fputs("k2hftfusesvr: ", stderr);
	(void)fprintf(stderr, format, text);
	(void)fputs("; see k2hftfusesvr --help\n", stderr);
	return -EINVAL;
}

static int option_unknown(const char *option)
{
	unsigned best_distance = K2I_NEAREST_NONE;
	const char *best = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		k2i_nearest_consider(option, names[i].name, &best, &best_distance);
	if (!best)
		return option_refuse("unknown option \"%s\"", option);
	(void)fprintf(stderr, "k2hftfusesvr: unknown option \"%s\"", option);
	(void)fprintf(stderr, "; did you mean %s?\n", best);
	return -EINVAL;
}

static int level_take(struct k2i_options *options, const char *text)
{
	return k2i_daemon_level_parse(text, &options->level) ? option_refuse("there is no message level \"%s\"", text)
							     : 0;
}

static int option_take(struct k2i_options *options, enum option option, const char *value)
{
	switch (option) {
	case OPTION_CONFIG:
	case OPTION_JSON:
		if (options->config_given)
			return option_refuse("%s: there is one configuration, by -conf or by -json", value);
		options->config_given = true;
		options->config = value;
		return 0;
	case OPTION_LEVEL:
		return level_take(options, value);
	case OPTION_LISTEN:
		options->listen = value;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	case OPTION_VERSION:
		options->version = true;
		return 0;
	}
	return -EINVAL;
}

/* The entry of `names` for an argument, also as NAME=VALUE for names with two dashes; -1: none. */
static int name_find(const char *argument, const char **value)
{
	size_t name_bytes;
	size_t i;

	*value = NULL;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_bytes = strlen(names[i].name);
		if (strncmp(argument, names[i].name, name_bytes) != 0)
			continue;
		if (argument[name_bytes] == '\0')
			return (int)i;
		if (argument[name_bytes] == '=' && names[i].wants_value && names[i].name[1] == '-') {
			*value = argument + name_bytes + 1;
			return (int)i;
		}
	}
	return -1;
}

/* An empty variable counts as none. */
static const char *environment_get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int environment_take(struct k2i_options *options)
{
	const char *level = environment_get("K2HFTDBGMODE");

	options->config = environment_get("K2HFTSVRCONFFILE");
	if (!options->config)
		options->config = environment_get("K2HFTSVRJSONCONF");
	options->log_file = environment_get("K2HFTDBGFILE");
	return level ? level_take(options, level) : 0;
}

int k2i_options_parse(int argc, char **argv, struct k2i_options *options)
{
	const char *value;
	int i, found, error;

	memset(options, 0, sizeof(*options));
	options->level = K2HFT_LOG_INFO;
	error = environment_take(options);
	for (i = 1; i < argc && !error; i++) {
		found = name_find(argv[i], &value);
		if (found < 0)
			return option_unknown(argv[i]);
		if (names[found].wants_value && !value) {
			if (i + 1 == argc)
				return option_refuse("option %s wants a value", argv[i]);
			value = argv[++i];
		}
		error = option_take(options, names[found].option, value);
	}
	if (!error && !options->config && !options->help && !options->version)
		return option_refuse("%s", "no configuration: -conf FILE is missing");
	return error;
}
