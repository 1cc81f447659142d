/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "client/dial.h"

int k2i_target_open(struct k2i_target *target, const struct k2hft_target *given, struct k2i_client_tls **tls)
{
	size_t peer_room = strlen(given->host) + strlen(given->port) + sizeof("[]:");

	target->host = strdup(given->host);
	target->port = strdup(given->port);
	target->peer = malloc(peer_room);
	if (!target->host || !target->port || !target->peer)
		return -ENOMEM;
	(void)snprintf(target->peer, peer_room, strchr(target->host, ':') ? "[%s]:%s" : "%s:%s", target->host,
		       target->port);
	target->hash = k2i_hash(target->peer, strlen(target->peer));
	return given->tls ? k2i_client_tls_find(tls, given->tls, &target->tls) : 0;
}

void k2i_targets_free(struct k2i_target *targets, uint32_t count)
{
	for (uint32_t at = 0; targets && at < count; at++) {
		k2i_resolve_drop(targets[at].resolve);
		free(targets[at].host);
		free(targets[at].port);
		free(targets[at].peer);
	}
	free(targets);
}
