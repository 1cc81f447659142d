/* SPDX-License-Identifier: MIT */
#include "receiver/base/peer_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define LINES 4u

/* Two addresses can share a limit: a table that grew with the addresses could be filled by anybody. */
struct k2i_log_limit *k2i_peer_log_limit(struct k2i_peer_log *log, const char *peer, const char *text, uint32_t burst)
{
	const char *port = strrchr(peer, ':');
	size_t address_bytes = port ? (size_t)(port - peer) : strlen(peer);
	struct k2i_log_limit *limit =
		&log->limits[k2i_hash_pair(peer, address_bytes, text, strlen(text)) % K2I_PEER_LOG_LIMITS];

	limit->burst = burst;
	return limit;
}

void k2i_peer_log_warn(struct k2i_peer_log *log, uint64_t now_ns, const char *host, const char *peer,
		       const char *format, ...)
{
	struct k2i_log_limit *limit;
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	limit = k2i_peer_log_limit(log, peer, text, LINES);
	if (host[0])
		k2i_log_limited(limit, now_ns, K2HFT_LOG_WARNING, "session: %s (%s) %s", host, peer, text);
	else
		k2i_log_limited(limit, now_ns, K2HFT_LOG_WARNING, "session: %s %s", peer, text);
}
