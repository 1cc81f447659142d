/* SPDX-License-Identifier: MIT */
/* k2hft push: standard input or files to a receiver, without a mount. */
#include "tools/push/push.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
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
	"usage: k2hft push [OPTION]... {-c FILE | -r HOST[:PORT]...} [FILE]...\n"
	"Sends files, or standard input, to a receiver; ends when it has acknowledged everything.\n\n"
	"  -r, --receiver HOST[:PORT]  where to; the port is " RECEIVER_PORT_DEFAULT
	" if none is given; again for another one\n"
	"  -c, --config FILE           receiver and ring as in this configuration file\n"
	"  -t, --stream PATH           name of the stream (the file's name, \"" STANDARD_INPUT
	"\" for standard input)\n"
	"      --binary                blocks of bytes, not lines\n"
	"      --ring FILE             keep in FILE what is not acknowledged, and send what is left there\n"
	"      --ring-size SIZE        of the ring, with K, M or G (8M in memory, 64M in a file)\n"
	"      --spread HOW            of several receivers a record goes to the one that hash says for its\n"
	"                              stream, to any (random), or to all (hash)\n"
	"      --copies NUMBER         with hash: it goes to so many of them (1)\n"
	"      --failover SECONDS      another one takes over from one that does not answer for so long (10)\n"
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

static const char *const spread_names[] = {"hash", "random", "all", NULL};

static int receiver_add(void *options, const char *text)
{
	struct push_options *push = options;

	if (push->receiver_count == K2HFT_TARGETS_MAX)
		return -EINVAL;
	push->receivers[push->receiver_count++] = text;
	return 0;
}

#define AT(field) .at = offsetof(struct push_options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("receiver", 'r', CALL, 0, .take = receiver_add, .needed = "at most 256 receivers are possible"),
	COMMAND_OPTION("config", 'c', TEXT, 0, AT(config_file)),
	COMMAND_OPTION("stream", 't', TEXT, 0, AT(path), .needed = "a name is needed"),
	COMMAND_OPTION("binary", 0, FLAG, 0, AT(binary)),
	COMMAND_OPTION("ring", 0, TEXT, 0, AT(ring_path)),
	COMMAND_OPTION("ring-size", 0, SIZE, 0, AT(ring_bytes),
		       OPTION_RANGE(K2HFT_RING_BYTES_MIN, K2HFT_RING_BYTES_MAX),
		       .needed = "a size from 64K to 1024G is needed"),
	COMMAND_OPTION("spread", 0, WORD, 0, AT(spread), OPTION_WORDS(spread_names, "hash, random or all is needed")),
	COMMAND_OPTION("copies", 0, NUMBER, 0, AT(copies), OPTION_RANGE(1, K2HFT_TARGETS_MAX),
		       .needed = "a number of receivers from 1 to 256 is needed"),
	COMMAND_OPTION("failover", 0, NUMBER, 0, AT(failover_s), OPTION_RANGE(1, 3600),
		       .needed = "a number of seconds from 1 to 3600 is needed"),
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

	if (options->receiver_count && options->config_file)
		return push_failed(STATUS_WRONG, "one of -r and -c is enough");
	if (!options->receiver_count && !options->config_file)
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

	*options =
		(struct push_options){.timeout_s = 30, .level = NOT_GIVEN, .compress = NOT_GIVEN, .spread = NOT_GIVEN};
	status = command_options_take(&known, options, argc, argv, &given);
	if (status || options->help)
		return status;
	options->tls |= options->authority || options->certificate || options->private_key || options->shared_key;
	return options_check(options);
}

static int receivers_take(struct push *push)
{
	const uint32_t count = push->options.receiver_count;
	struct k2hft_sender_options *sender = &push->config.options;

	push->receivers = calloc(count, sizeof(*push->receivers));
	push->targets = calloc(count, sizeof(*push->targets));
	if (!push->receivers || !push->targets)
		return push_failed(STATUS_FAILED, "%s", strerror(ENOMEM));
	for (uint32_t at = 0; at < count; at++)
		if (receiver_parse(push->options.receivers[at], RECEIVER_PORT_DEFAULT, push->receivers[at].text,
				   &push->targets[at].host, &push->targets[at].port))
			return push_failed(STATUS_WRONG,
					   "-r %s: HOST or HOST:PORT is needed, with a port from 1 to 65535",
					   push->options.receivers[at]);
	sender->targets = push->targets;
	sender->target_count = count;
	return STATUS_OK;
}

/* The single receiver's ring has the very name that is said. */
static void receiver_single(struct push *push)
{
	struct k2hft_sender_options *sender = &push->config.options;

	if (push->options.receiver_count != 1)
		return;
	sender->host = push->targets->host;
	sender->port = push->targets->port;
	sender->tls = push->targets->tls;
	sender->targets = NULL;
	sender->target_count = 0;
}

static int spread_take(struct push *push)
{
	const struct push_options *options = &push->options;
	struct k2hft_sender_options *sender = &push->config.options;
	const uint32_t count = sender->target_count ? sender->target_count : 1;

	if (options->spread != NOT_GIVEN)
		sender->spread = (uint32_t)options->spread;
	if (options->copies)
		sender->copies = (uint32_t)options->copies;
	if (options->failover_s)
		sender->failover_ms = (uint32_t)options->failover_s * 1000;
	if (sender->copies > count)
		return push_failed(STATUS_WRONG, "--copies %u: there %s %u receiver%s", sender->copies,
				   count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
	if (sender->copies > 1 && sender->spread != K2HFT_SPREAD_HASH)
		return push_failed(STATUS_WRONG, "--copies goes with --spread hash only");
	return STATUS_OK;
}

/* A name that does not exist will not be found by trying again; everything else the client tries until the time is up. */
static int receiver_resolve(const struct k2hft_target *target)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	int status = getaddrinfo(target->host, target->port, &hints, &found);

	if (status == 0)
		freeaddrinfo(found);
	if (status != EAI_NONAME)
		return STATUS_OK;
	return push_failed(STATUS_FAILED, "receiver %s: %s", target->host, gai_strerror(status));
}

static int receivers_resolve(const struct push *push)
{
	const struct k2hft_target *targets = push->targets ? push->targets : push->config.targets;
	uint32_t count = push->targets ? push->options.receiver_count : push->config.target_count;
	int status = STATUS_OK;

	for (uint32_t at = 0; at < count && status == STATUS_OK; at++)
		status = receiver_resolve(&targets[at]);
	return status;
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
		status = receivers_take(push);
		if (status)
			return status;
	}
	status = push_tls_take(push);
	if (status)
		return status;
	receiver_single(push);
	status = spread_take(push);
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

/* Bytes that will be read: known of files only, those that standard input is among them. */
static uint64_t inputs_bytes(char **names)
{
	char *standard[] = {"-", NULL};
	uint64_t total = 0;
	struct stat about;
	off_t at;

	for (names = *names ? names : standard; *names; names++) {
		bool given = strcmp(*names, "-") == 0;

		if ((given ? fstat(STDIN_FILENO, &about) : stat(*names, &about)) || !S_ISREG(about.st_mode))
			return 0;
		at = given ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
		total += at >= 0 && at < about.st_size ? (uint64_t)(about.st_size - at) : 0;
	}
	return total;
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
	if (k2hft_sender_lane_count(push->sender) == 1)
		push->lease.client = k2hft_sender_client(push->sender);
	push->started_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	push->shown_ns = push->started_ns;
	status = inputs_push(push, names);
	drained = push_drain(push);
	/* push_drain has said what remains. */
	command_log_end();
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
		status = receivers_resolve(&push);
	if (status == STATUS_OK) {
		push_signals_set();
		push.total_bytes = inputs_bytes(argv + optind);
		status = push_run(&push, argv + optind);
	}
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	if (push.config.settings)
		k2i_sender_config_free(&push.config);
	free(push.receivers);
	free(push.targets);
	return status;
}
