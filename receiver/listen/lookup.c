/* SPDX-License-Identifier: MIT */
#include "receiver/listen/lookup.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

bool k2i_lookup_address(const struct sockaddr *peer, struct sockaddr_storage *address)
{
	const struct sockaddr_in *peer4 = (const void *)peer;
	const struct sockaddr_in6 *peer6 = (const void *)peer;
	struct sockaddr_in *address4 = (void *)address;
	struct sockaddr_in6 *address6 = (void *)address;

	memset(address, 0, sizeof(*address));
	address->ss_family = peer->sa_family;
	if (peer->sa_family == AF_INET) {
		address4->sin_addr = peer4->sin_addr;
	} else if (peer->sa_family == AF_INET6) {
		address6->sin6_addr = peer6->sin6_addr;
		address6->sin6_scope_id = peer6->sin6_scope_id;
	}
	return peer->sa_family == AF_INET || peer->sa_family == AF_INET6;
}

static socklen_t address_bytes(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? (socklen_t)sizeof(struct sockaddr_in)
					     : (socklen_t)sizeof(struct sockaddr_in6);
}

static int lookup_error(int error)
{
	if (error == 0)
		return 0;
	return error == EAI_NONAME || error == EAI_NODATA ? -ENOENT : -EAGAIN;
}

void k2i_lookup_text(const struct sockaddr_storage *address, char text[K2I_LOOKUP_NAME_ROOM])
{
	if (getnameinfo((const void *)address, address_bytes(address), text, K2I_LOOKUP_NAME_ROOM, NULL, 0,
			NI_NUMERICHOST))
		(void)snprintf(text, K2I_LOOKUP_NAME_ROOM, "?");
	text[strcspn(text, "%")] = '\0';
}

static int name_of(const struct sockaddr_storage *address, char name[K2I_LOOKUP_NAME_ROOM])
{
	int error = lookup_error(getnameinfo((const void *)address, address_bytes(address), name, K2I_LOOKUP_NAME_ROOM,
					     NULL, 0, NI_NAMEREQD));
	size_t bytes = error ? 0 : strlen(name);

	if (bytes > 1 && name[bytes - 1] == '.')
		name[bytes - 1] = '\0';
	return error;
}

static int leads_to(const char *name, const struct sockaddr_storage *address)
{
	struct addrinfo hints = {.ai_family = address->ss_family, .ai_socktype = SOCK_STREAM}, *found = NULL;
	struct sockaddr_storage wanted, other;
	int error = lookup_error(getaddrinfo(name, NULL, &hints, &found));
	const struct addrinfo *next;

	if (error)
		return error;
	error = -ENOENT;
	/* A name knows nothing of the interface of a local address. */
	wanted = *address;
	if (wanted.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&wanted)->sin6_scope_id = 0;
	for (next = found; next && error; next = next->ai_next) {
		if (!k2i_lookup_address(next->ai_addr, &other))
			continue;
		if (other.ss_family == AF_INET6)
			((struct sockaddr_in6 *)(void *)&other)->sin6_scope_id = 0;
		if (memcmp(&other, &wanted, sizeof(other)) == 0)
			error = 0;
	}
	freeaddrinfo(found);
	return error;
}

const struct k2i_lookup k2i_lookup_system = {name_of, leads_to};
