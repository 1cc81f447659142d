/* SPDX-License-Identifier: MIT */
#ifndef K2I_REFUSALS_H
#define K2I_REFUSALS_H

#include <stdint.h>

#include "base/log.h"

/* The lines about peers that connect, are refused, or break off: whoever can connect can make them come by the thousand. */
#define K2I_REFUSALS_LIMITS 64u
/* Of each kind in ten seconds about one address, of those that programs of a host bring about in ordinary operation. */
#define K2I_VISIT_LINES 20u

struct k2i_refusals {
	struct k2i_log_limit limits[K2I_REFUSALS_LIMITS]; /* by address and text; zero at first */
};

/* For lines of one kind, which `text` says, about one address: `burst` in ten seconds. Otherwise as below. */
struct k2i_log_limit *k2i_refusals_limit(struct k2i_refusals *refusals, const char *peer, const char *text,
					 uint32_t burst);

/*
 * "session: HOST (PEER) TEXT" for "ADDRESS:PORT" of the peer, or without a HOST while that is ""; a text comes four times in
 * ten seconds for one address, however many its peers are. One thread at a time. `now_ns` as k2i_log_limited's.
 */
void k2i_refusal_log(struct k2i_refusals *refusals, uint64_t now_ns, const char *host, const char *peer,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
