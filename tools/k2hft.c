/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <k2hft/version.h>

#include "tools/base/errors.h"
#include "base/nearest.h"
#include "app/program/standard.h"
#include "tools/base/commands.h"

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"bench", k2i_command_bench, "measures how fast records arrive, compared with a plain pipe"},
	{"check", k2i_command_check, "checks configuration files, prints their effective values"},
	{"help", command_help, "explains a command, a key of the configuration, or a counter"},
	{"key", k2i_command_key, "makes a key that sender and receiver share"},
	{"push", k2i_command_push, "sends files or standard input to a receiver"},
	{"reload", k2i_command_reload, "has a receiver or a mount read its configuration again"},
	{"serve", k2i_command_serve, "shows by HTTP what became of records on this host: page, metrics, health"},
	{"stat", k2i_command_stat, "shows what became of records, at a receiver, a mount or a ring"},
	{"tap", k2i_command_tap, "shows records as they pass, at a mount or a ring"},
	{"testio", k2i_command_testio, "measures how fast files are written and read"},
	{"verify", k2i_command_verify, "makes records, and checks that all arrived, once and in order"},
	{"version", command_version, "prints the version"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *output)
{
	size_t number;

	(void)fputs("usage: k2hft COMMAND [ARGUMENT...]\n\n", output);
	for (number = 0; number < COMMAND_COUNT; number++)
		(void)fprintf(output, "  %-10s %s\n", commands[number].name, commands[number].summary);
	(void)fputs("\n\"k2hft help COMMAND\" explains a command; k2hft(1) has more.\n", output);
}

static const struct command *find(const char *name)
{
	size_t number;

	for (number = 0; number < COMMAND_COUNT; number++)
		if (strcmp(commands[number].name, name) == 0)
			return &commands[number];
	return NULL;
}

/* `explained`: it can be a key of the configuration, too. */
static int unknown(const char *name, bool explained)
{
	const char *best = NULL;
	unsigned best_distance = K2I_NEAREST_NONE;
	size_t number;

	for (number = 0; number < COMMAND_COUNT; number++)
		k2i_nearest_consider(name, commands[number].name, &best, &best_distance);
	if (explained) {
		k2i_key_nearest_consider(name, &best, &best_distance);
		k2i_counter_nearest_consider(name, &best, &best_distance);
	}
	(void)fprintf(stderr,
		      explained ? "k2hft help: %s is neither a command, a key of the configuration nor a counter; "
				: "k2hft: unknown command %s; ",
		      name);
	if (best)
		(void)fprintf(stderr, "did you mean %s?\n", best);
	else
		(void)fputs(explained ? "\"k2hft help\" lists the commands, k2hft.conf(5) the keys, k2hft-stat(1) the "
					"counters\n"
				      : "\"k2hft help\" lists them\n",
			    stderr);
	return STATUS_WRONG;
}

static int run(const struct command *command, int argc, char **argv)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "k2hft %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

static bool asks_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Refuses the first argument that a command without options does not take. */
static int surplus(const char *command, const char *argument, const char *needed)
{
	command_error(command, "%s: %s", argument, needed);
	command_help_hint(command);
	return STATUS_WRONG;
}

static int command_version(int argc, char **argv)
{
	if (argc > 1 && !asks_help(argv[1]))
		return surplus("version", argv[1], "it takes no arguments");
	if (argc > 1)
		(void)puts("usage: k2hft version\n\nPrints the version.");
	else
		(void)printf("k2hft %s\n", K2HFT_VERSION_STRING);
	return 0;
}

static int command_help(int argc, char **argv)
{
	char help[] = "--help";
	char *arguments[] = {NULL, help, NULL};
	const struct command *command;

	if (argc < 2 || asks_help(argv[1])) {
		usage(stdout);
		return 0;
	}
	if (argc > 2)
		return surplus("help", argv[2], "one command, key or counter is explained at a time");
	command = find(argv[1]);
	if (command)
		return run(command, 2, arguments);
	if (k2i_key_explain(argv[1]) == 0 || k2i_counter_explain(argv[1]) == 0)
		return 0;
	return unknown(argv[1], true);
}

static int any_run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		usage(stderr);
		return STATUS_WRONG;
	}
	if (asks_help(argv[1]))
		return command_help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "-V") == 0)
		return command_version(argc - 1, argv + 1);
	command = find(argv[1]);
	return command ? run(command, argc - 1, argv + 1) : unknown(argv[1], false);
}

int main(int argc, char **argv)
{
	int status = k2i_standard_keep() ? STATUS_FAILED : any_run(argc, argv);

	/* A result that could not be written is nobody's. */
	return k2i_standard_flush(stdout, "k2hft") ? STATUS_FAILED : status;
}
