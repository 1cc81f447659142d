/* SPDX-License-Identifier: MIT */
/* k2hft push: standard input or files to a receiver, without a mount. */
#include "tools/push/push.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/base/arguments.h"
#include "tools/base/commands.h"

#define NOT_GIVEN UINT64_MAX
#define HOST_NEEDED "a name of 1 to 255 bytes without control characters is needed"
#define STANDARD_INPUT "stdin"
/* A ring in memory: what goes through fits the processor's cache better than through the library's default. */
#define MEMORY_RING_BYTES (8u * 1024 * 1024)

static const char help[] =
	"usage: k2hft push [OPTION]... {-c FILE | -r HOST[:PORT]} [FILE]...\n"
	"Sends files, or standard input, to a receiver; ends when it has acknowledged everything.\n\n"
	"  -r, --receiver HOST[:PORT]  where to; the port is " RECEIVER_PORT_DEFAULT " if none is given\n"
	"  -c, --config FILE           receiver and ring as in this configuration file\n"
	"  -t, --stream PATH           name of the stream (the file's name, \"" STANDARD_INPUT
	"\" for standard input)\n"
	"      --binary                blocks of bytes, not lines\n"
	"      --ring FILE             keep in FILE what is not acknowledged, and send what is left there\n"
	"      --ring-size SIZE        of the ring, with K, M or G (8M in memory, 64M in a file)\n"
	"      --timeout SECONDS       wait at most this long for a connection, and at the end for an\n"
	"                              acknowledgement (30)\n"
	"      --host NAME             name by which the receiver knows this host\n"
	"      --level LEVEL           received, written or synced (written)\n"
	"      --compress MODE         auto, never or always (auto)\n"
	"      --tls                   encrypts; the following options do so, too\n"
	"      --ca FILE               trusts the certificates in FILE, or in a directory (the system's)\n"
	"      --cert FILE             certificate of this host, if the receiver wants one\n"
	"      --key FILE              its private key\n"
	"      --psk FILE              key that the receiver also has, instead of certificates\n"
	"  -q, --quiet                 no progress, errors only\n"
	"  -h, --help                  this text\n";

#define AT(field) .at = offsetof(struct push_options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("receiver", 'r', TEXT, 0, AT(receiver)),
	COMMAND_OPTION("config", 'c', TEXT, 0, AT(config_file)),
	COMMAND_OPTION("stream", 't', TEXT, 0, AT(path), .needed = "a name is needed"),
	COMMAND_OPTION("binary", 0, FLAG, 0, AT(binary)),
	COMMAND_OPTION("ring", 0, TEXT, 0, AT(ring_path)),
	COMMAND_OPTION("ring-size", 0, SIZE, 0, AT(ring_bytes),
		       OPTION_RANGE(K2HFT_RING_BYTES_MIN, K2HFT_RING_BYTES_MAX),
		       .needed = "a size from 64K to 1024G is needed"),
	COMMAND_OPTION("timeout", 0, NUMBER, 0, AT(timeout_s), OPTION_RANGE(0, 86400),
		       .needed = "a number of seconds from 0 to 86400 is needed"),
	COMMAND_OPTION("host", 0, TEXT, 0, AT(host_name), .maximum = K2HFT_STREAM_HOST_BYTES_MAX,
		       .needed = HOST_NEEDED),
	COMMAND_OPTION("level", 0, WORD, 0, AT(level),
		       OPTION_WORDS(level_names, "received, written or synced is needed")),
	COMMAND_OPTION("compress", 0, WORD, 0, AT(compress),
		       OPTION_WORDS(compress_names, "auto, never or always is needed")),
	COMMAND_OPTION("tls", 0, FLAG, 0, AT(tls)),
	COMMAND_OPTION("ca", 0, TEXT, 0, AT(authority)),
	COMMAND_OPTION("cert", 0, TEXT, 0, AT(certificate)),
	COMMAND_OPTION("key", 0, TEXT, 0, AT(private_key)),
	COMMAND_OPTION("psk", 0, TEXT, 0, AT(shared_key)),
	COMMAND_OPTION("quiet", 'q', FLAG, 0, AT(quiet)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

/* -1: go on; else the exit status. */
static int options_check(const struct push_options *options)
{
	const char *host = options->host_name;

	if (options->receiver && options->config_file)
		return push_failed(STATUS_WRONG, "one of -r and -c is enough");
	if (!options->receiver && !options->config_file)
		return push_failed(STATUS_WRONG, "a receiver is needed: -r HOST[:PORT], or -c FILE");
	if (options->path && k2hft_stream_path_check(options->path, strlen(options->path)))
		return push_failed(STATUS_WRONG,
				   "-t %s: a stream's name is a relative path without empty, \".\" and \"..\" parts, "
				   "of at most %u bytes",
				   options->path, K2HFT_STREAM_PATH_BYTES_MAX);
	if (host && !k2i_text_plain(host))
		return push_failed(STATUS_WRONG, "--host: " HOST_NEEDED);
	return -1;
}

/* The same. */
static int options_parse(struct push_options *options, int argc, char **argv)
{
	static const struct command_options known = {"push", help, settings, sizeof(settings) / sizeof(settings[0])};
	uint64_t given;
	int status;

	*options = (struct push_options){.timeout_s = 30, .level = NOT_GIVEN, .compress = NOT_GIVEN};
	status = command_options_take(&known, options, argc, argv, &given);
	if (status || options->help)
		return status;
	options->tls |= options->authority || options->certificate || options->private_key || options->shared_key;
	return options_check(options);
}

static int receiver_take(struct push *push)
{
	const char *given = push->options.receiver;

	if (receiver_parse(given, RECEIVER_PORT_DEFAULT, push->receiver, &push->config.options.host,
			   &push->config.options.port) == 0)
		return STATUS_OK;
	return push_failed(STATUS_WRONG, "-r %s: HOST or HOST:PORT is needed, with a port from 1 to 65535", given);
}

/* A name that does not exist will not be found by trying again; everything else the client tries until the time is up. */
static int receiver_resolve(const struct push *push)
{
	const char *host = push->config.options.host;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	int status = getaddrinfo(host, push->config.options.port, &hints, &found);

	if (status == 0)
		freeaddrinfo(found);
	if (status != EAI_NONAME)
		return STATUS_OK;
	return push_failed(STATUS_FAILED, "receiver %s: %s", host, gai_strerror(status));
}

static int sender_options_make(struct push *push)
{
	struct k2hft_sender_options *sender = &push->config.options;
	char message[1024];
	int status;

	sender->size = sizeof(*sender);
	if (push->options.config_file) {
		status = k2i_sender_config_load(push->options.config_file, &push->config, message, sizeof(message));
		if (status)
			return push_failed(STATUS_WRONG, "%s", message[0] ? message : strerror(-status));
	} else {
		status = receiver_take(push);
		if (status)
			return status;
	}
	status = push_tls_take(push);
	if (status)
		return status;
	sender->host_name = push->options.host_name;
	if (push->options.ring_path) {
		sender->ring_path = push->options.ring_path;
		sender->ring_flags = 0;
	}
	if (push->options.ring_bytes)
		sender->ring_bytes = push->options.ring_bytes;
	else if (!push->config.settings && !sender->ring_path)
		sender->ring_bytes = MEMORY_RING_BYTES;
	/* This program waits itself, so that it can look around meanwhile. */
	sender->full = K2HFT_FULL_FAIL;
	if (push->options.level != NOT_GIVEN)
		sender->level = K2HFT_LEVEL_RECEIVED + (uint32_t)push->options.level;
	if (push->options.compress != NOT_GIVEN)
		sender->compress = (uint32_t)push->options.compress;
	return STATUS_OK;
}

/* Refuses before anything is sent. */
static int inputs_check(char **names)
{
	int status = STATUS_OK, error;
	struct stat about;

	for (; *names; names++) {
		if (strcmp(*names, "-") == 0)
			continue;
		error = access(*names, R_OK) || stat(*names, &about) ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
		if (error)
			status = push_failed(STATUS_FAILED, "%s: %s", *names, strerror(error));
	}
	return status;
}

static int input_push(struct push *push, const char *name)
{
	bool standard = strcmp(name, "-") == 0;
	const char *slash = strrchr(name, '/');
	const char *path = push->options.path ? push->options.path
			   : standard         ? STANDARD_INPUT
			   : slash            ? slash + 1
					      : name;
	int descriptor = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC), status;

	if (descriptor < 0)
		return push_failed(STATUS_FAILED, "%s: %s", name, strerror(errno));
	status = push_input(push, descriptor, standard ? "standard input" : name, path);
	if (!standard)
		(void)close(descriptor);
	return status;
}

static int inputs_push(struct push *push, char **names)
{
	char *standard[] = {"-", NULL};
	int status = STATUS_OK;

	for (names = *names ? names : standard; *names && status == STATUS_OK; names++)
		status = input_push(push, *names);
	if (status != -EINTR)
		return status;
	push_error("interrupted: what was read is sent");
	return STATUS_OK;
}

static int push_run(struct push *push, char **names)
{
	int status = k2hft_sender_open(&push->config.options, &push->sender), drained = STATUS_OK;
	char message[1024];

	if (status) {
		k2i_sender_config_ring_failed(&push->config, status, message, sizeof(message));
		return push_failed(STATUS_FAILED, "%s", message);
	}
	push->lease.client = k2hft_sender_client(push->sender);
	push->started_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	push->shown_ns = push->started_ns;
	status = inputs_push(push, names);
	drained = push_drain(push);
	/* push_drain has said what remains. */
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	(void)k2hft_sender_close(push->sender, 0);
	return status ? status : drained;
}

int k2i_command_push(int argc, char **argv)
{
	struct push push = {0};
	int status = options_parse(&push.options, argc, argv);

	if (status >= 0)
		return status;
	push.show = !push.options.quiet && isatty(STDERR_FILENO);
	k2hft_log_callback_set(command_log, "push", push.options.quiet ? K2HFT_LOG_ERROR : K2HFT_LOG_WARNING);
	status = sender_options_make(&push);
	if (status == STATUS_OK)
		status = inputs_check(argv + optind);
	if (status == STATUS_OK)
		status = receiver_resolve(&push);
	if (status == STATUS_OK) {
		push_signals_set();
		status = push_run(&push, argv + optind);
	}
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	if (push.config.settings)
		k2i_sender_config_free(&push.config);
	return status;
}
