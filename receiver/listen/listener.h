/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_LISTENER_H
#define K2I_RECEIVER_LISTEN_LISTENER_H

#include <netinet/in.h>
#include <stdbool.h>

#include "receiver/base/counters.h"
#include "receiver/connection/loops.h"
#include "config/settings.h"

/* Where to listen. */
struct k2i_listen_choice {
	char host[256]; /* name or address; "": every address */
	char port[16];
	bool loopback;    /* 127.0.0.1 and ::1, host does not count */
	bool unencrypted; /* without TLS: records from other hosts are worth a warning */
	bool anybody;     /* who may connect is not said */
};

/*
 * `argument` (ADDRESS:PORT, [ADDRESS]:PORT; NULL: none) decides; else LISTEN; else, if the configuration says SSL = yes,
 * or SSL = no in so many words, SVRNODE's NAME if it is an address or localhost, or else every address; else loopback.
 * -EINVAL the argument is wrong.
 */
int k2i_listen_choose(const struct k2i_settings *settings, const char *argument, struct k2i_listen_choice *choice);

struct addrinfo;
struct event_base;
struct k2i_listener;

/* A socket that is bound to the address: a descriptor, or -errno. */
int k2i_listen_bind(const struct addrinfo *address);
/* "ADDRESS:PORT" of a socket; returns its port in network order. */
in_port_t k2i_listen_name(int descriptor, char *text, size_t room);
/* Whether a socket's own address is one that only this host can reach. */
bool k2i_listen_loopback(int descriptor);
#define K2I_LISTEN_SOCKETS_MAX 8u /* of a name */
/* Why not, in words; -E2BIG: the name has more addresses than that. */
const char *k2i_listen_reason(int error);
/* Whether one of the list from `first` on is the same: a name that is in /etc/hosts twice has each of its addresses twice. */
bool k2i_listen_repeated(const struct addrinfo *first, const struct addrinfo *address);

/* Binds, which can need privileges; whoever connects is refused as yet. An error was logged. */
int k2i_listener_open(const struct k2i_listen_choice *choice, struct k2i_listener **listener);
/* Listens, says where, and accepts from now on, by `base`, for `loops`. -ENOMEM, or an error that was logged. */
int k2i_listener_start(struct k2i_listener *listener, struct event_base *base, struct k2i_loops *loops,
		       struct k2i_counters *counters);
void k2i_listener_close(struct k2i_listener *listener);

#endif
