/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/base/arguments.h"
#include "tools/base/commands.h"
#include "tools/base/errors.h"

#define KEY_BYTES 32u          /* as long as the suite's hash */
#define IDENTITY_BYTES_MAX 64u /* fits a line of a log */

static const char usage[] =
	"usage: k2hft key [-o FILE] [IDENTITY]\n\n"
	"Makes a key for PSKFILE, which a sender and its receiver share. IDENTITY tells the receiver which\n"
	"of its keys a sender has; without one it has the key's only name.\n\n"
	"  -o, --output FILE  a new file, for its owner only; else standard output\n"
	"  -h, --help         prints this\n\n"
	"Exit status: 0; 1 the file can't be made; 2 wrong arguments.\n";

struct key {
	const char *output;
	bool help;
};

static const struct command_option settings[] = {
	COMMAND_OPTION("output", 'o', TEXT, 0, .at = offsetof(struct key, output)),
	COMMAND_OPTION("help", 'h', HELP, 0, .at = offsetof(struct key, help)),
};

static bool identity_plain(const char *identity)
{
	return *identity && strlen(identity) <= IDENTITY_BYTES_MAX && k2i_text_plain(identity) &&
	       !strpbrk(identity, ": \t");
}

static int key_write(int descriptor, const char *identity)
{
	uint8_t key[KEY_BYTES];

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -errno;
	if (identity && dprintf(descriptor, "%s:", identity) < 0)
		return -errno;
	for (size_t at = 0; at < sizeof(key); at++)
		if (dprintf(descriptor, at + 1 < sizeof(key) ? "%02x" : "%02x\n", key[at]) < 0)
			return -errno;
	return 0;
}

/* A key that is in use is never written over: the file must not be there. */
static int key_make(const char *output, const char *identity)
{
	int descriptor = output ? open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : STDOUT_FILENO, error;

	if (descriptor < 0)
		return command_failed(STATUS_FAILED, "key", "%s: %s%s", output, strerror(errno),
				      errno == EEXIST ? ", and stays: remove it, or name another" : "");
	error = key_write(descriptor, identity);
	if (output && !error && fsync(descriptor) < 0)
		error = -errno;
	if (output && close(descriptor) < 0 && !error)
		error = -errno;
	if (!error)
		return STATUS_OK;
	if (output)
		(void)unlink(output);
	return command_failed(STATUS_FAILED, "key", "%s: %s", output ? output : "standard output", strerror(-error));
}

int k2i_command_key(int argc, char **argv)
{
	static const struct command_options known = {"key", usage, settings, sizeof(settings) / sizeof(settings[0])};
	const char *identity;
	struct key key = {0};
	uint64_t given;
	int status = command_options_take(&known, &key, argc, argv, &given);

	if (status || key.help)
		return status;
	identity = optind < argc ? argv[optind] : NULL;
	if (argc - optind > 1 || (identity && !identity_plain(identity))) {
		command_error("key", "%s",
			      argc - optind > 1 ? "one IDENTITY is taken"
						: "IDENTITY: 1 to 64 characters without blanks and colons are needed");
		command_help_hint("key");
		return STATUS_WRONG;
	}
	return key_make(key.output, identity);
}
