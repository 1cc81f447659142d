/* SPDX-License-Identifier: MIT */
#include "sender/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/options.h"
#include "base/spread.h"
#include "client/client.h"

struct k2hft_ring_options k2i_ring_options_of(const struct k2hft_sender_options *options)
{
	return (struct k2hft_ring_options){
		.size = sizeof(struct k2hft_ring_options),
		.path = options->ring_path,
		.ring_bytes = options->ring_bytes,
		.flags = options->ring_flags,
	};
}

const struct k2hft_target *k2i_sender_targets(const struct k2hft_sender_options *options, struct k2hft_target *one,
					      uint32_t *count)
{
	*one = (struct k2hft_target){.host = options->host, .port = options->port, .tls = options->tls};
	*count = options->target_count ? options->target_count : 1;
	return options->target_count ? options->targets : one;
}

struct k2hft_client_options k2i_client_options_of(const struct k2hft_sender_options *options)
{
	/* A ring without a name is found by nobody later. */
	bool ends = !options->ring_path || options->ring_flags & K2HFT_RING_TEMPORARY;
	struct k2hft_target one;
	uint32_t count;
	const struct k2hft_target *home = k2i_sender_targets(options, &one, &count);

	return (struct k2hft_client_options){
		.size = sizeof(struct k2hft_client_options),
		.host = home->host,
		.port = home->port,
		.host_name = options->host_name,
		.level = options->level,
		.compress = options->compress,
		.batch_records_max = options->batch_records_max,
		.expire_s = options->expire_s,
		.flags = ends ? K2HFT_CLIENT_RING_ENDS : 0,
		.tls = home->tls,
		.failover_ms = options->failover_ms,
		.archive_path = options->archive_path,
	};
}

int k2hft_sender_ring_options(const struct k2hft_sender_options *options, struct k2hft_ring_options *ring_options)
{
	struct k2hft_sender_options known;
	int status = ring_options ? k2i_options_copy(&known, sizeof(known), options) : -EINVAL;

	if (status == 0)
		*ring_options = k2i_ring_options_of(&known);
	return status;
}

int k2hft_sender_client_options(const struct k2hft_sender_options *options, struct k2hft_client_options *client_options)
{
	struct k2hft_sender_options known;
	int status = client_options ? k2i_options_copy(&known, sizeof(known), options) : -EINVAL;

	if (status == 0)
		*client_options = k2i_client_options_of(&known);
	return status;
}

static int target_check(const struct k2hft_sender_options *options, uint32_t number)
{
	const struct k2hft_target *target = &options->targets[number];
	struct k2hft_client_options client = k2i_client_options_of(options);
	char home[K2I_SPREAD_HOME_BYTES], other[K2I_SPREAD_HOME_BYTES];
	int status;

	client.host = target->host;
	client.port = target->port;
	client.tls = target->tls;
	status = k2i_client_options_check(&client);
	if (status)
		return status;
	/* It is part of the name of a file. */
	if (strchr(target->host, '/') || strchr(target->port, '/'))
		return k2i_option_refuse("host \"%s\" and port \"%s\" have a slash", target->host, target->port);
	k2i_spread_home(target->host, target->port, home);
	while (number-- > 0) {
		k2i_spread_home(options->targets[number].host, options->targets[number].port, other);
		if (strcasecmp(home, other) == 0)
			return k2i_option_refuse("%s is twice in targets", home);
	}
	return 0;
}

static int targets_check(const struct k2hft_sender_options *options)
{
	int status = 0;

	if (!options->targets || options->target_count > K2HFT_TARGETS_MAX)
		return k2i_option_refuse("targets = NULL, or target_count = %u is more than %u", options->target_count,
					 K2HFT_TARGETS_MAX);
	if (options->host || options->port || options->tls)
		return k2i_option_refuse("host, port and tls stand instead of targets");
	for (uint32_t number = 0; number < options->target_count && status == 0; number++)
		status = target_check(options, number);
	return status;
}

static int spread_check(const struct k2hft_sender_options *options)
{
	uint32_t count = options->target_count ? options->target_count : 1;

	if (options->spread > K2HFT_SPREAD_ALL)
		return k2i_option_refuse("spread = %u is not known", options->spread);
	if (options->copies > count)
		return k2i_option_refuse("copies = %u is more than the %u receivers", options->copies, count);
	if (options->copies > 1 && options->spread != K2HFT_SPREAD_HASH)
		return k2i_option_refuse("copies = %u goes with K2HFT_SPREAD_HASH only", options->copies);
	return 0;
}

int k2i_sender_options_check(struct k2hft_sender_options *options)
{
	struct k2hft_client_options client;
	int status;

	if (options->full > K2HFT_FULL_DROP)
		return k2i_option_refuse("full = %u is not known", options->full);
	if (options->reserved)
		return k2i_option_refuse("reserved = %u is not 0", options->reserved);
	for (uint32_t at = 0; at < options->except_count; at++)
		if (!options->except || !options->except[at] || !*options->except[at])
			return k2i_option_refuse("except_count = %u, but an except is NULL or empty",
						 options->except_count);
	if (options->target_count) {
		status = targets_check(options);
	} else {
		client = k2i_client_options_of(options);
		status = options->targets ? k2i_option_refuse("target_count = 0, but there are targets")
					  : k2i_client_options_check(&client);
	}
	return status ? status : spread_check(options);
}

static const char *const *except_copy(const struct k2hft_sender_options *options, bool *enough)
{
	const char **copy = options->except_count ? calloc(options->except_count, sizeof(*copy)) : NULL;

	*enough &= copy || !options->except_count;
	for (uint32_t at = 0; copy && at < options->except_count; at++) {
		copy[at] = strdup(options->except[at]);
		*enough &= copy[at] != NULL;
	}
	return (const char *const *)copy;
}

int k2i_sender_options_copy(const struct k2hft_sender_options *options, struct k2hft_sender_options *copy)
{
	bool enough = true;

	*copy = *options;
	copy->host = copy->port = NULL;
	copy->tls = NULL;
	copy->targets = NULL;
	copy->target_count = 0;
	copy->host_name = options->host_name ? strdup(options->host_name) : NULL;
	copy->ring_path = options->ring_path ? strdup(options->ring_path) : NULL;
	copy->archive_path = options->archive_path ? strdup(options->archive_path) : NULL;
	copy->except = except_copy(options, &enough);
	enough &= !copy->host_name == !options->host_name && !copy->ring_path == !options->ring_path &&
		  !copy->archive_path == !options->archive_path;
	return enough ? 0 : -ENOMEM;
}

void k2i_sender_options_free(struct k2hft_sender_options *copy)
{
	for (uint32_t at = 0; copy->except && at < copy->except_count; at++)
		free((char *)copy->except[at]);
	free((void *)copy->except);
	free((char *)copy->host_name);
	free((char *)copy->ring_path);
	free((char *)copy->archive_path);
}
