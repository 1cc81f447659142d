/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_ADDRESS_H
#define K2I_BASE_ADDRESS_H

#include <arpa/inet.h>
#include <stdbool.h>

/* Whether a host is said by its address, of IPv4 or IPv6, and not by a name. */
static inline bool k2i_address_valid(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

#endif
