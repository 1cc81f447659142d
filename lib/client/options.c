/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "base/options.h"
#include "client/client.h"
#include "base/text.h"

/* A number, or a service name. getaddrinfo(3) takes the lower 16 bits of a larger number, which is another port. */
static bool is_port(const char *port)
{
	K2I_ERRNO_KEPT;
	char *end;
	unsigned long number = strtoul(port, &end, 10);

	return *port && (*end || (number > 0 && number <= UINT16_MAX));
}

static int name_check(const struct k2hft_client_options *options)
{
	if (options->host_name &&
	    (strlen(options->host_name) > K2HFT_STREAM_HOST_BYTES_MAX || !k2i_text_plain(options->host_name)))
		return k2i_option_refuse("host_name = \"%s\" has more than %u bytes, or a control character",
					 options->host_name, (unsigned)K2HFT_STREAM_HOST_BYTES_MAX);
	return 0;
}

static int tls_check(const struct k2hft_tls_options *options)
{
	struct k2hft_tls_options known;
	int error = options ? k2i_options_copy(&known, sizeof(known), options) : 0;

	if (!options || error < 0)
		return error;
	if (known.version_min > K2HFT_TLS_1_3)
		return k2i_option_refuse("version_min of tls = %u is not known", known.version_min);
	if (known.reserved)
		return k2i_option_refuse("reserved of tls = %u is not 0", known.reserved);
	/* A certificate or a private key alone does nothing, and a shared key needs none of them. */
	if (!known.certificate_path != !known.private_key_path)
		return k2i_option_refuse("certificate_path and private_key_path need each other");
	if (known.shared_key_path && (known.certificate_path || known.authority_path))
		return k2i_option_refuse("shared_key_path stands instead of certificate_path and authority_path");
	return 0;
}

int k2i_client_target_check(const struct k2hft_target *target)
{
	if (!target->host || !*target->host)
		return k2i_option_refuse("host is missing");
	if (!target->port)
		return k2i_option_refuse("port is missing");
	if (!is_port(target->port))
		return k2i_option_refuse("port = \"%s\" is no port", target->port);
	return tls_check(target->tls);
}

static int others_check(struct k2hft_client_options *options)
{
	int error = 0;

	if (options->others_count && !options->others)
		return k2i_option_refuse("others are missing");
	for (uint32_t at = 0; error == 0 && at < options->others_count; at++)
		error = k2i_client_target_check(&options->others[at]);
	if (options->failover_ms == 0)
		options->failover_ms = K2HFT_FAILOVER_MS_DEFAULT;
	if (error == 0 && options->failover_ms < K2HFT_FAILOVER_MS_MIN)
		return k2i_option_refuse("failover_ms = %" PRIu32 " is less than %u", options->failover_ms,
					 K2HFT_FAILOVER_MS_MIN);
	return error;
}

int k2i_client_options_check(struct k2hft_client_options *options)
{
	int error = k2i_client_target_check(&(struct k2hft_target){options->host, options->port, options->tls});

	if (error == 0)
		error = name_check(options);
	if (error == 0)
		error = others_check(options);
	if (error)
		return error;
	if (options->level > K2HFT_LEVEL_SYNCED)
		return k2i_option_refuse("level = %u is not known", options->level);
	if (options->compress > K2HFT_COMPRESS_ALWAYS)
		return k2i_option_refuse("compress = %u is not known", options->compress);
	if (options->frame_bytes_max > K2HFT_FRAME_BODY_BYTES_MAX)
		return k2i_option_refuse("frame_bytes_max = %" PRIu64 " is more than %u",
					 (uint64_t)options->frame_bytes_max, (unsigned)K2HFT_FRAME_BODY_BYTES_MAX);
	if (options->flags & ~K2HFT_CLIENT_RING_ENDS)
		return k2i_option_refuse("flags = %#x are not known", options->flags);
	if (options->reserved)
		return k2i_option_refuse("reserved = %u is not 0", options->reserved);
	if (options->level == 0)
		options->level = K2HFT_LEVEL_WRITTEN;
	if (options->frame_bytes_max == 0)
		options->frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT;
	return 0;
}
