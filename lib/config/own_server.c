/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/table.h"

/* A socket can be bound to an address of this host only. */
static bool address_is_here(const struct addrinfo *address)
{
	int descriptor = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool here = descriptor >= 0 && bind(descriptor, address->ai_addr, address->ai_addrlen) == 0;

	if (descriptor >= 0)
		(void)close(descriptor);
	return here;
}

static bool name_is_here(const char *name, int flags)
{
	struct addrinfo hints = {.ai_flags = flags, .ai_socktype = SOCK_DGRAM}, *found = NULL, *address;
	char own[HOST_NAME_MAX + 1] = "";

	if (!name)
		return false;
	(void)gethostname(own, sizeof(own) - 1);
	if (strcasecmp(name, own) == 0)
		return true;
	if (getaddrinfo(name, NULL, &hints, &found))
		return false;
	for (address = found; address && !address_is_here(address); address = address->ai_next)
		;
	freeaddrinfo(found);
	return address != NULL;
}

/* SELFCTLPORT and SELFCUK, as far as they are said, tell it from others. */
static bool server_is_candidate(const struct k2i_settings *settings, const struct k2i_node *node)
{
	unsigned control_port = node->control_port ? node->control_port : settings->control_port;

	return (!settings->self_control_port || control_port == settings->self_control_port) &&
	       (!settings->self_key || (node->key && strcmp(node->key, settings->self_key) == 0));
}

/* Names are looked up only where there is a choice, and none is an address or the name of this host. */
const char *k2i_own_server_find(struct k2i_settings *settings)
{
	size_t candidates = 0, number;

	for (number = settings->server_count; number-- > 0;) {
		if (!server_is_candidate(settings, &settings->servers[number]))
			continue;
		candidates++;
		settings->own_server = number;
	}
	if (candidates == 1 || !settings->server_count)
		return NULL;
	if (!candidates)
		return "no [SVRNODE] has CTLPORT = SELFCTLPORT and CUK = SELFCUK: the receiver takes the first for its "
		       "own";
	for (unsigned pass = 0; pass < 2; pass++) {
		for (number = 0; number < settings->server_count; number++) {
			const struct k2i_node *node = &settings->servers[number];

			if (!server_is_candidate(settings, node) ||
			    !name_is_here(node->name, pass ? 0 : AI_NUMERICHOST))
				continue;
			settings->own_server = number;
			return NULL;
		}
	}
	return "NAME of no [SVRNODE] is this host: the receiver takes this one for its own";
}
