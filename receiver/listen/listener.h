/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_LISTENER_H
#define K2I_RECEIVER_LISTEN_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "config/settings.h"

/* The words of a port's log lines. */
struct k2i_listen_words {
	const char *area;        /* a line begins with it */
	const char *address_key; /* names the address in the configuration */
	const char *port_key;    /* " (KEY)" behind the port, or "" */
	const char *ready;       /* stands before the address when the port is open */
};
/* PORT, where senders connect. */
extern const struct k2i_listen_words k2i_listen_records;

struct k2i_listen_choice {
	const struct k2i_listen_words *words;
	char host[256]; /* name or address; "": every address */
	char port[16];
	bool loopback;    /* 127.0.0.1 and ::1; `host` does not count */
	bool unencrypted; /* without TLS: records from other hosts are worth a warning */
	bool anybody;     /* no setting says who may connect */
	int handed;       /* so many sockets are open, in place of all that: descriptors from handed_first on */
	int handed_first;
};

/*
 * Chooses where to listen for records. `argument` (ADDRESS:PORT, [ADDRESS]:PORT; NULL: none) decides, else LISTEN.
 * Without both it is loopback, unless the configuration has SSL = yes or SSL = no: then it is SVRNODE's NAME if that is
 * an address or localhost, else every address. -EINVAL the argument is wrong.
 */
int k2i_listen_choose(const struct k2i_settings *settings, const char *argument, struct k2i_listen_choice *choice);

/* The user of a port. */
struct k2i_listen_taker {
	/* Takes a socket that was accepted, in every case. */
	void (*take)(void *argument, int descriptor, const struct sockaddr *address, socklen_t address_bytes);
	void *argument;
	atomic_uint_fast64_t *accept_errors; /* a counter */
};

struct event_base;
/* The sockets of one port. */
struct k2i_listener;

/*
 * Binds, which can need privileges; a peer that connects is refused as yet. -errno; -ENOMEM is not logged, others are.
 */
int k2i_listener_open(const struct k2i_listen_choice *choice, struct k2i_listener **listener);
/* Whether other hosts can connect. */
bool k2i_listener_beyond_host(const struct k2i_listener *listener);
/* Listens, says where, and accepts from now on, on the thread of `base`. -errno, which was logged. */
int k2i_listener_start(struct k2i_listener *listener, struct event_base *base, const struct k2i_listen_taker *taker);
/* NULL is allowed. */
void k2i_listener_close(struct k2i_listener *listener);

#endif
