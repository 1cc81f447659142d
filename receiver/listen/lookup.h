/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_LOOKUP_H
#define K2I_RECEIVER_LISTEN_LOOKUP_H

#include <stdbool.h>
#include <sys/socket.h>

/* The system's names of addresses. All calls can take long. */
#define K2I_LOOKUP_NAME_ROOM 256u

struct k2i_lookup { /* so that tests can have others */
	/* 0; -ENOENT it has none; -EAGAIN that can't be found out now. */
	int (*name_of)(const struct sockaddr_storage *address, char name[K2I_LOOKUP_NAME_ROOM]);
	/* 0: the name has that address; else as above. */
	int (*leads_to)(const char *name, const struct sockaddr_storage *address);
};
extern const struct k2i_lookup k2i_lookup_system;

/* The family and the address, and nothing of the port: equal bytes are equal hosts. False: neither IPv4 nor IPv6. */
bool k2i_lookup_address(const struct sockaddr *peer, struct sockaddr_storage *address);
/* As getnameinfo(3) writes it, without the interface of a local one. */
void k2i_lookup_text(const struct sockaddr_storage *address, char text[K2I_LOOKUP_NAME_ROOM]);

#endif
