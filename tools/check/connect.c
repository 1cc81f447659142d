/* SPDX-License-Identifier: MIT */
/* check --connect: whether what a configuration names outside of this program is there. */
#include "tools/check/connect.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/client.h>
#include <k2hft/log.h>
#include <k2hft/ring.h>

#include "app/program/module.h"
#include "base/clock.h"
#include "config/sender.h"

#define WAIT_NS (5 * K2I_SECOND_NS)
#define LOOK_NS (20 * K2I_MILLISECOND_NS)

struct finding {
	k2i_settings_report *report;
	void *argument;
	const char *file;
};

static void found(const struct finding *finding, enum k2i_finding kind, const char *what, const char *why)
{
	char text[PATH_MAX + 1024];

	(void)snprintf(text, sizeof(text), "%s: %s", what, why);
	finding->report(finding->argument, kind, finding->file, 0, text);
}

/* A receiver that is greeted as a sender would, with a ring that is forgotten again. */
struct greeting {
	struct k2hft_ring *ring;
	struct k2hft_client *client;
};

static int greeting_begin(struct greeting *greeting, const struct k2hft_target *target)
{
	struct k2hft_ring_options ring_options = K2HFT_RING_OPTIONS_INIT;
	struct k2hft_client_options options = K2HFT_CLIENT_OPTIONS_INIT;
	int error;

	ring_options.ring_bytes = K2HFT_RING_BYTES_MIN;
	options.host = target->host;
	options.port = target->port;
	options.tls = target->tls;
	options.flags = K2HFT_CLIENT_RING_ENDS;
	error = k2hft_ring_open(&ring_options, &greeting->ring);
	if (!error)
		error = k2hft_client_open(greeting->ring, &options, &greeting->client);
	return error ? error : k2hft_client_thread_start(greeting->client);
}

static void greeting_end(struct greeting *greeting)
{
	k2hft_client_close(greeting->client);
	k2hft_ring_close(greeting->ring);
}

static bool greeting_answered(struct greeting *greeting, struct k2hft_client_stats *stats)
{
	*stats = (struct k2hft_client_stats)K2HFT_CLIENT_STATS_INIT;
	return k2hft_client_stats(greeting->client, stats) == 0 && stats->state == K2HFT_CLIENT_CONNECTED;
}

static void target_judge(const struct finding *finding, const struct k2hft_target *target, struct greeting *greeting,
			 int error, uint64_t deadline_ns)
{
	const struct timespec pause = k2i_timespec(LOOK_NS);
	struct k2hft_client_stats stats;
	char name[512];

	(void)snprintf(name, sizeof(name), strchr(target->host, ':') ? "receiver [%s]:%s" : "receiver %s:%s",
		       target->host, target->port);
	if (error) {
		found(finding, K2I_FINDING_ERROR, name, strerror(-error));
		return;
	}
	while (!greeting_answered(greeting, &stats)) {
		if (k2i_clock_now_ns() >= deadline_ns) {
			found(finding, K2I_FINDING_ERROR, name, *stats.last_error ? stats.last_error : "no answer");
			return;
		}
		(void)nanosleep(&pause, NULL);
	}
}

/* All at once: those that are away cost the wait once. */
static void targets_check(const struct finding *finding, const struct k2i_sender_config *config)
{
	struct greeting *greetings = calloc(config->target_count, sizeof(*greetings));
	int *errors = calloc(config->target_count, sizeof(*errors));
	uint64_t deadline_ns = k2i_clock_now_ns() + WAIT_NS;

	for (uint32_t at = 0; greetings && errors && at < config->target_count; at++)
		errors[at] = greeting_begin(&greetings[at], &config->targets[at]);
	for (uint32_t at = 0; greetings && errors && at < config->target_count; at++)
		target_judge(finding, &config->targets[at], &greetings[at], errors[at], deadline_ns);
	for (uint32_t at = 0; greetings && at < config->target_count; at++)
		greeting_end(&greetings[at]);
	free(greetings);
	free(errors);
}

/* Binds as the receiver would, and lets go. */
static int address_bind(const struct addrinfo *address)
{
	int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, error = 0;

	if (descriptor < 0)
		return -errno;
	(void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(descriptor, address->ai_addr, address->ai_addrlen) < 0 || listen(descriptor, 1) < 0)
		error = -errno;
	(void)close(descriptor);
	return error;
}

static void port_check(const struct finding *finding, const char *key, const char *host, unsigned port)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	struct addrinfo *addresses;
	char text[16], what[64];
	int error;

	(void)snprintf(text, sizeof(text), "%u", port);
	(void)snprintf(what, sizeof(what), "%s = %u", key, port);
	error = getaddrinfo(host, text, &hints, &addresses);
	if (error) {
		found(finding, K2I_FINDING_ERROR, host ? host : what, gai_strerror(error));
		return;
	}
	error = address_bind(addresses);
	if (error == -EADDRINUSE)
		found(finding, K2I_FINDING_WARNING, what, "in use, by this receiver if it runs, or by another program");
	else if (error)
		found(finding, K2I_FINDING_ERROR, what, strerror(-error));
	freeaddrinfo(addresses);
}

/* Cuts the last name off. */
static void path_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		memcpy(path, ".", sizeof("."));
	else
		slash[slash == path] = '\0';
}

/*
 * Whether files can be made in the directory of the first `bytes` of a path; with `made` the program makes those that are
 * missing.
 */
static void directory_check(const struct finding *finding, const char *key, const char *path, size_t bytes, bool made)
{
	char what[PATH_MAX + 32], directory[PATH_MAX];
	struct stat status;
	int error;

	(void)snprintf(directory, sizeof(directory), "%.*s", (int)bytes, path);
	while ((error = stat(directory, &status) < 0 ? errno : 0) == ENOENT && made)
		path_up(directory);
	if (!error && !S_ISDIR(status.st_mode))
		error = ENOTDIR;
	else if (!error && access(directory, W_OK | X_OK) < 0)
		error = errno;
	if (!error)
		return;
	(void)snprintf(what, sizeof(what), "%s = %s", key, path);
	found(finding, K2I_FINDING_ERROR, what, strerror(error));
}

/* Whether a file can be written, or made in its directory. */
static void file_check(const struct finding *finding, const char *key, const char *path, bool made)
{
	const char *slash = strrchr(path, '/');
	char what[PATH_MAX + 32];

	if (access(path, W_OK) == 0)
		return;
	if (access(path, F_OK) == 0) {
		(void)snprintf(what, sizeof(what), "%s = %s", key, path);
		found(finding, K2I_FINDING_ERROR, what, strerror(EACCES));
		return;
	}
	directory_check(finding, key, slash ? path : ".", slash && slash != path ? (size_t)(slash - path) : 1, made);
}

/* Files that a mount writes; an OUTPUTFILE that is relative is in the mount itself. */
static void sender_files_check(const struct finding *finding, const struct k2i_sender_config *config)
{
	const struct k2i_settings *settings = config->settings;
	const char *ring = config->options.ring_path;

	if (ring && config->options.ring_flags & K2HFT_RING_TEMPORARY)
		directory_check(finding, "directory of the ring", ring, PATH_MAX, false);
	else if (ring)
		file_check(finding, "K2HFILE", ring, false);
	if (settings->archive_file)
		file_check(finding, "K2HTPDTOR_FILE", settings->archive_file, false);
	for (size_t at = 0; at < settings->rule_count; at++) {
		const char *output = settings->rules[at].output_file;

		if (output && output[0] == '/')
			file_check(finding, "OUTPUTFILE", output, true);
	}
}

static void modules_check(const struct finding *finding, const struct k2i_settings *settings)
{
	char reason[K2I_MODULE_REASON_ROOM];

	for (size_t at = 0; at < K2I_MODULES; at++) {
		const char *name = k2i_module_outputs[at].name;

		if (settings->outputs & k2i_module_outputs[at].output &&
		    !k2i_module_load(name, "k2i_sink_module", reason, sizeof(reason)))
			found(finding, K2I_FINDING_ERROR, name, reason);
	}
}

static void receiver_check(const struct finding *finding, const struct k2i_settings *settings)
{
	unsigned control_port = k2i_settings_control_port(settings);

	port_check(finding, "PORT", settings->listen_address, k2i_settings_port(settings, true));
	if (control_port)
		port_check(finding, "CTLPORT", settings->control_address ? settings->control_address : "localhost",
			   control_port);
	modules_check(finding, settings);
	/* As another user, the receiver has other rights than who runs this. */
	if (settings->run_user)
		return;
	if (settings->base_directory)
		directory_check(finding, "FILE_BASEDIR", settings->base_directory, PATH_MAX, true);
	if (settings->state_directory)
		directory_check(finding, "STATEDIR", settings->state_directory, PATH_MAX, true);
}

void k2i_check_connect(const struct k2i_settings *settings, const char *file, k2i_settings_report *report,
		       void *argument)
{
	const struct finding finding = {report, argument, settings->file};
	struct k2i_settings *senders;
	struct k2i_sender_config config;
	char message[1024];

	if (settings->receiver_present)
		receiver_check(&finding, settings);
	if (!settings->fuse_present && settings->receiver_present)
		return;
	if (k2i_settings_load(file, &senders, message, sizeof(message)) ||
	    k2i_sender_config_make(senders, &config, message, sizeof(message))) {
		report(argument, K2I_FINDING_ERROR, settings->file, 0, message);
		return;
	}
	sender_files_check(&finding, &config);
	targets_check(&finding, &config);
	k2i_sender_config_free(&config);
}
