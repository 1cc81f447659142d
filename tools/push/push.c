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
#include "tools/base/commands.h"

#define TIMEOUT_S_DEFAULT 30
#define TIMEOUT_S_MAX 86400
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

/* ONCE: of what there is one for all that is sent a second could be meant for the files behind it. */
enum type { FLAG, TEXT, ONCE, SIZE, SECONDS };

static const struct setting {
	const char *name;
	int letter; /* or 0 */
	enum type type;
	size_t at; /* in struct push_options */
} settings[] = {
#define AT(field) offsetof(struct push_options, field)
	{"receiver", 'r', ONCE, AT(receiver)},
	{"config", 'c', ONCE, AT(config_file)},
	{"stream", 't', ONCE, AT(path)},
	{"binary", 0, FLAG, AT(binary)},
	{"ring", 0, TEXT, AT(ring_path)},
	{"ring-size", 0, SIZE, AT(ring_bytes)},
	{"timeout", 0, SECONDS, AT(timeout_ms)},
	{"host", 0, TEXT, AT(host_name)},
	{"level", 0, TEXT, AT(level)},
	{"compress", 0, TEXT, AT(compress)},
	{"tls", 0, FLAG, AT(tls)},
	{"ca", 0, TEXT, AT(authority)},
	{"cert", 0, TEXT, AT(certificate)},
	{"key", 0, TEXT, AT(private_key)},
	{"psk", 0, TEXT, AT(shared_key)},
	{"quiet", 'q', FLAG, AT(quiet)},
	{"help", 'h', FLAG, AT(help)},
#undef AT
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
#define FIRST_LONG 256

static int setting_take(struct push_options *options, const struct setting *setting)
{
	void *field = (char *)options + setting->at;
	uint64_t seconds;

	switch (setting->type) {
	case FLAG:
		*(bool *)field = true;
		return STATUS_OK;
	case SIZE:
		if (size_parse(optarg, K2HFT_RING_BYTES_MIN, K2HFT_RING_BYTES_MAX, field) == 0)
			return STATUS_OK;
		return push_failed(STATUS_WRONG, "--ring-size %s: a size from 64K to 1024G is needed", optarg);
	case SECONDS:
		if (number_parse(optarg, 0, TIMEOUT_S_MAX, &seconds))
			return push_failed(STATUS_WRONG, "--timeout %s: a number of seconds from 0 to %d is needed",
					   optarg, TIMEOUT_S_MAX);
		*(int *)field = (int)seconds * 1000;
		return STATUS_OK;
	case ONCE:
		if (*(const char **)field)
			return push_failed(STATUS_WRONG, "-%c %s: %s was given before", setting->letter, optarg,
					   *(const char **)field);
		break;
	case TEXT:
		break;
	}
	*(const char **)field = optarg;
	return STATUS_OK;
}

static const struct setting *setting_of(int option)
{
	for (size_t at = 0; at < SETTINGS; at++)
		if (settings[at].letter == option || FIRST_LONG + (int)at == option)
			return &settings[at];
	return NULL;
}

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
	if (host && (!*host || strlen(host) > K2HFT_STREAM_HOST_BYTES_MAX || !k2i_text_plain(host)))
		return push_failed(STATUS_WRONG, "--host: a name of 1 to %u bytes without control characters is needed",
				   K2HFT_STREAM_HOST_BYTES_MAX);
	return -1;
}

/* The same. */
static int options_parse(struct push_options *options, int argc, char **argv)
{
	struct option long_options[SETTINGS + 1] = {0};
	int option, status;

	options->timeout_ms = TIMEOUT_S_DEFAULT * 1000;
	for (size_t at = 0; at < SETTINGS; at++)
		long_options[at] =
			(struct option){.name = settings[at].name,
					.has_arg = settings[at].type == FLAG ? no_argument : required_argument,
					.val = FIRST_LONG + (int)at};
	while ((option = getopt_long(argc, argv, "r:c:t:qh", long_options, NULL)) != -1) {
		const struct setting *setting = setting_of(option);

		if (!setting) { /* getopt has said what is wrong */
			command_help_hint("push");
			return STATUS_WRONG;
		}
		status = setting_take(options, setting);
		if (status)
			return status;
		if (options->help) {
			(void)fputs(help, stdout);
			return STATUS_OK;
		}
	}
	options->tls |= options->authority || options->certificate || options->private_key || options->shared_key;
	return options_check(options);
}

static int words_parse(const struct push_options *options, struct k2hft_sender_options *sender)
{
	uint64_t place;

	if (options->level) {
		if (word_parse(options->level, level_names, &place))
			return push_failed(STATUS_WRONG, "--level %s: received, written or synced is needed",
					   options->level);
		sender->level = K2HFT_LEVEL_RECEIVED + (uint32_t)place;
	}
	if (options->compress) {
		if (word_parse(options->compress, compress_names, &place))
			return push_failed(STATUS_WRONG, "--compress %s: auto, never or always is needed",
					   options->compress);
		sender->compress = (uint32_t)place;
	}
	return STATUS_OK;
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
	return words_parse(&push->options, sender);
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
