/* SPDX-License-Identifier: MIT */
#include "config/sender.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls/tls.h"

/* Where K2HTYPE=temp puts its file when TMPDIR says nothing. */
#define TEMPORARY_DIRECTORY "/tmp"

static void ring_from_settings(const struct k2i_settings *settings, struct k2i_sender_config *config)
{
	struct k2hft_sender_options *options = &config->options;
	const char *directory = getenv("TMPDIR"), *file = settings->queue_file;

	switch (settings->queue_type) {
	case K2I_QUEUE_MEMORY:
		break;
	case K2I_QUEUE_TEMPORARY:
		(void)snprintf(config->ring_directory, sizeof(config->ring_directory), "%.*s",
			       file ? (int)(strrchr(file, '/') - file) + 1 : (int)sizeof(config->ring_directory),
			       file                        ? file
			       : directory && directory[0] ? directory
							   : TEMPORARY_DIRECTORY);
		options->ring_path = config->ring_directory;
		options->ring_flags = K2HFT_RING_TEMPORARY;
		break;
	case K2I_QUEUE_FILE:
		options->ring_path = settings->queue_file;
		options->ring_flags = settings->queue_fresh ? K2HFT_RING_FRESH : 0;
		break;
	}
	options->ring_bytes = settings->ring_bytes;
}

static void target_from_node(const struct k2i_settings *settings, const struct k2i_node *node,
			     struct k2i_sender_target *part, struct k2hft_target *target)
{
	struct k2i_tls_settings tls;

	(void)snprintf(part->port, sizeof(part->port), "%u", k2i_node_port(settings, node));
	*target = (struct k2hft_target){.host = node->name, .port = part->port};
	if (!k2i_node_tls(settings, node, false, &tls))
		return;
	part->tls = (struct k2hft_tls_options){
		.size = sizeof(part->tls),
		.authority_path = tls.authority,
		.certificate_path = tls.certificate,
		.private_key_path = tls.private_key,
		.shared_key_path = tls.shared_key,
		.version_min = tls.version_min,
	};
	target->tls = &part->tls;
}

static int targets_from_settings(const struct k2i_settings *settings, struct k2i_sender_config *config)
{
	struct k2hft_sender_options *options = &config->options;

	config->targets = calloc(settings->server_count, sizeof(*config->targets));
	config->parts = calloc(settings->server_count, sizeof(*config->parts));
	if (!config->targets || !config->parts)
		return -ENOMEM;
	config->target_count = (uint32_t)settings->server_count;
	for (size_t number = 0; number < settings->server_count; number++)
		target_from_node(settings, &settings->servers[number], &config->parts[number],
				 &config->targets[number]);
	if (config->target_count > 1) {
		options->targets = config->targets;
		options->target_count = config->target_count;
	} else {
		options->host = config->targets->host;
		options->port = config->targets->port;
		options->tls = config->targets->tls;
	}
	options->spread = settings->broadcast ? K2HFT_SPREAD_ALL : settings->spread;
	options->copies = (uint32_t)settings->copies;
	if (options->spread == K2HFT_SPREAD_HASH && settings->replica < K2I_REPLICA_ALL)
		options->replica = settings->replica ? (uint32_t)settings->replica : K2HFT_REPLICA_NONE;
	options->failover_ms = (uint32_t)settings->failover_s * 1000;
	return 0;
}

/* The settings of a mount's file have been checked; a receiver's file need not be one for a sender. */
static bool is_senders(const struct k2i_settings *settings)
{
	bool senders = settings->server_count > 0;

	for (size_t number = 0; number < settings->server_count; number++)
		senders &= settings->servers[number].name && k2i_node_port(settings, &settings->servers[number]);
	return senders;
}

int k2i_sender_config_make(struct k2i_settings *settings, struct k2i_sender_config *config, char *message,
			   size_t message_room)
{
	memset(config, 0, sizeof(*config));
	config->settings = settings;
	if (!is_senders(settings)) {
		(void)snprintf(message, message_room,
			       "%s: no section K2HFTFUSE, and no SVRNODE with NAME and PORT: it is a receiver's file",
			       settings->file);
		k2i_sender_config_free(config);
		return -EINVAL;
	}
	config->options.size = sizeof(config->options);
	if (targets_from_settings(settings, config)) {
		(void)snprintf(message, message_room, "%s: %s", settings->file, strerror(ENOMEM));
		k2i_sender_config_free(config);
		return -ENOMEM;
	}
	ring_from_settings(settings, config);
	config->options.except = (const char *const *)settings->except;
	config->options.except_count = (uint32_t)settings->except_count;
	config->options.archive_path = settings->archive_file;
	config->options.full = settings->full;
	config->options.compress = settings->compress;
	config->options.batch_records_max = settings->batch_records_max;
	config->options.expire_s = settings->expire_s > UINT32_MAX ? UINT32_MAX : (uint32_t)settings->expire_s;
	return 0;
}

int k2i_sender_config_load(const char *file, struct k2i_sender_config *config, char *message, size_t message_room)
{
	struct k2i_settings *settings;
	int status = k2i_settings_load_logged(file, &settings, message, message_room);

	return status ? status : k2i_sender_config_make(settings, config, message, message_room);
}

/* NULL: no memory. A relative path starts from the directory of the file that names it; what is JSON stays. */
static char *next_stage_file(const struct k2i_settings *settings)
{
	const char *named = settings->next_stage, *slash = strrchr(settings->file, '/');
	char *file;

	if (!named)
		named = getenv("CHMCONFFILE");
	if (!named || !*named)
		named = getenv("CHMJSONCONF");
	if (!named || !*named)
		return strdup("");
	if (!settings->next_stage || *named == '/' || named[strspn(named, " \t\r\n")] == '{')
		slash = NULL;
	return asprintf(&file, "%.*s%s", slash ? (int)(slash - settings->file) + 1 : 0, settings->file, named) < 0
		       ? NULL
		       : file;
}

/* The ring, and what concerns several next stages, is as the relay's own file says. */
static void relay_apply(const struct k2i_relay_settings *relay, struct k2i_sender_config *config)
{
	struct k2i_settings *settings = config->settings;

	free(settings->queue_file);
	settings->queue_file = relay->queue_file ? strdup(relay->queue_file) : NULL;
	settings->queue_type = relay->queue_type;
	settings->queue_fresh = relay->queue_fresh;
	settings->ring_bytes = relay->ring_bytes;
	config->options.ring_path = NULL;
	config->options.ring_flags = 0;
	ring_from_settings(settings, config);
	config->options.full = K2HFT_FULL_FAIL;
	config->options.expire_s = 0;
	config->options.copies = (uint32_t)relay->copies;
	config->options.failover_ms = (uint32_t)relay->failover_s * 1000;
}

int k2i_sender_config_relay(const struct k2i_settings *settings, struct k2i_sender_config *config, char *message,
			    size_t message_room)
{
	const struct k2i_relay_settings *relay = &settings->relay;
	char *file = next_stage_file(settings);
	int status = file && *file ? k2i_sender_config_load(file, config, message, message_room)
		     : file        ? -ENOENT
				   : -ENOMEM;

	if (file && !*file)
		(void)snprintf(message, message_room, "TYPE = trans needs TRANSCONF: where the next stage is");
	free(file);
	if (status)
		return status;
	relay_apply(relay, config);
	if (relay->queue_file && !config->settings->queue_file)
		status = -ENOMEM;
	else if (relay->copies > config->target_count)
		status = -EINVAL;
	if (!status)
		return 0;
	(void)snprintf(message, message_room, "%s",
		       status == -ENOMEM ? strerror(ENOMEM) : "COPIES must be at most the number of next stages");
	k2i_sender_config_free(config);
	return status;
}

static const char *ring_reason(int error)
{
	switch (error) {
	case -EBUSY:
		return "another process sends from this file; end it, or name another file";
	case -EPROTO:
		return "it is not a ring that this version knows, or its header is damaged; name another file, or "
		       "remove "
		       "this one";
	case -ELOOP:
		return "it is a symbolic link, or one is on the way to itself; name the file that is meant";
	case -EPERM:
		return "it is another user's, in a directory where others can put files; name another file";
	case -ENOENT:
		return "No such file or directory; make its directory, or name a file in another";
	default:
		return strerror(-error);
	}
}

void k2i_sender_config_ring_failed(const struct k2i_sender_config *config, int error, char *message,
				   size_t message_room)
{
	const struct k2i_settings *settings = config->settings;
	const char *path = config->options.ring_path;
	bool own_path = settings && settings->queue_type == K2I_QUEUE_TEMPORARY ? path == config->ring_directory
			: settings && settings->queue_type == K2I_QUEUE_FILE    ? path == settings->queue_file
										: !path;
	char place[4200];

	if (!settings || !own_path || config->options.ring_bytes != settings->ring_bytes) {
		(void)snprintf(message, message_room, "%s: %s", path ? path : "ring", ring_reason(error));
		return;
	}
	switch (settings->queue_type) {
	case K2I_QUEUE_MEMORY:
		(void)snprintf(message, message_room, "%s: no ring of RINGSIZE in memory: %s", settings->file,
			       strerror(-error));
		break;
	case K2I_QUEUE_TEMPORARY:
		(void)snprintf(message, message_room,
			       "%s: K2HTYPE = temp: no file in %s, which K2HFILE or TMPDIR may name: %s",
			       settings->file, path, strerror(-error));
		break;
	case K2I_QUEUE_FILE:
		(void)snprintf(message, message_room, "%s: K2HFILE %s: %s",
			       k2i_settings_place(settings, K2I_SECTION_K2HFTFUSE, "K2HFILE", place, sizeof(place)),
			       settings->queue_file, ring_reason(error));
		break;
	}
}

void k2i_sender_config_free(struct k2i_sender_config *config)
{
	free(config->targets);
	free(config->parts);
	k2i_settings_free(config->settings);
}

/*
 * Names do not depend on the program's locale: in a Turkish one I is not the capital of i, and ringsize would be an
 * unknown key.
 */
static int load_plainly(const char *file, struct k2i_sender_config *config, char *message, size_t message_room)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = plain ? uselocale(plain) : (locale_t)0;
	int status = k2i_sender_config_load(file, config, message, message_room);

	if (plain) {
		(void)uselocale(before);
		freelocale(plain);
	}
	return status;
}

static int open_config(const char *file, struct k2hft_sender **sender, char *message, size_t message_room)
{
	struct k2i_sender_config config;
	char unread[512];
	int status;

	if (!message || !message_room) {
		message = unread;
		message_room = sizeof(unread);
	}
	message[0] = '\0';
	if (!file || !sender) {
		(void)snprintf(message, message_room, "no %s was given",
			       file ? "place for the sender" : "configuration file");
		return -EINVAL;
	}
	status = load_plainly(file, &config, message, message_room);
	if (status)
		return status;
	status = k2hft_sender_open(&config.options, sender);
	if (status && config.options.ring_path)
		k2i_sender_config_ring_failed(&config, status, message, message_room);
	else if (status)
		(void)snprintf(message, message_room, "%s: %s", config.settings->file, strerror(-status));
	k2i_sender_config_free(&config);
	return status;
}

int k2hft_sender_open_config(const char *file, struct k2hft_sender **sender, char *message, size_t message_room)
{
	int kept = errno, status = open_config(file, sender, message, message_room);

	errno = kept;
	return status;
}

static bool text_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

bool k2i_sender_tls_same(const struct k2hft_tls_options *one, const struct k2hft_tls_options *other)
{
	if (!one || !other)
		return one == other;
	return text_same(one->authority_path, other->authority_path) &&
	       text_same(one->certificate_path, other->certificate_path) &&
	       text_same(one->private_key_path, other->private_key_path) &&
	       text_same(one->shared_key_path, other->shared_key_path) && one->version_min == other->version_min;
}
