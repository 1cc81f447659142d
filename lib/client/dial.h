/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_DIAL_H
#define K2I_CLIENT_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/client.h>

#include "base/log.h"
#include "net/tls/tls.h"
#include "net/transport.h"

/* The way from the name of a receiver to a connection with it, whose first byte is the caller's. */

struct k2i_client_tls {                   /* tls.c */
	struct k2i_tls_settings settings; /* with strings of its own */
	struct k2i_tls_context *context;  /* NULL: OpenSSL has ended */
	struct k2i_client_tls *next;
	struct k2i_log_limit limit;
};

struct k2i_target { /* target.c: a receiver as its lane knows it */
	char *host, *port;
	char *peer;                  /* both, for people */
	uint64_t hash;               /* of them, for the ring */
	struct k2i_client_tls *tls;  /* NULL: none; targets with the same settings share it */
	struct k2i_resolve *resolve; /* NULL: none under way; it can't be ended, so it is the next try's, too */
	uint64_t side_at_ns;         /* side.c: when it is greeted next */
	uint32_t side_failures;      /* in a row */
	bool gone;                   /* it takes over no more */
};

struct k2i_dial {
	int epoll, interrupt;
	struct k2i_target *target;
	struct k2i_transport transport;
	uint32_t events; /* of the socket, that epoll watches */
	struct addrinfo *addresses, *address_next;
	bool securing;        /* the TLS handshake is under way */
	uint64_t deadline_ns; /* of the step that is under way */
	char reason[256];     /* of a failure */
};

enum {
	K2I_DIAL_NOBODY = -2, /* at none of the addresses that were left */
	K2I_DIAL_FAILED = -1,
	K2I_DIAL_UNDER_WAY = 0,
	K2I_DIAL_READY = 1,
};

/* Begins with the next address, if one is left, else with the name. */
int k2i_dial_begin(struct k2i_dial *dial, uint64_t now_ns);
/* Goes on, if it is time. `events`: of the socket. */
int k2i_dial_step(struct k2i_dial *dial, uint32_t events, uint64_t now_ns);
int k2i_dial_watch(struct k2i_dial *dial, uint32_t events);
/* Ends the connection; addresses that were not tried are left. */
void k2i_dial_close(struct k2i_dial *dial);
void k2i_dial_addresses_free(struct k2i_dial *dial);

/* target.c: makes one that was checked; its TLS, that others may share, goes to `*tls`. -EINVAL a file, -ENOMEM */
int k2i_target_open(struct k2i_target *target, const struct k2hft_target *given, struct k2i_client_tls **tls);
void k2i_targets_free(struct k2i_target *targets, uint32_t count);

/* tls.c */
/* The one of the list with these settings, which it gets if it has none. -EINVAL, which the log explains; -ENOMEM */
int k2i_client_tls_find(struct k2i_client_tls **list, const struct k2hft_tls_options *options,
			struct k2i_client_tls **found);
void k2i_client_tls_free(struct k2i_client_tls *list);
/* OpenSSL ends. */
void k2i_client_tls_end(struct k2i_client_tls *list);
/* Reads the files again and begins with TLS on the connection. 0 or -ENOMEM */
int k2i_client_tls_begin(struct k2i_client_tls *tls, struct k2i_transport *transport, const char *host,
			 uint64_t now_ns);

#endif
