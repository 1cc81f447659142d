/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_SPREAD_H
#define K2I_BASE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The choice of a chunk's lane, for every sender the same. A home is a lane's first receiver by its name, "HOST:PORT" as
 * the user wrote it: so the order of a list changes nothing.
 */

/* Room for a home's name, with its terminator; an address of IPv6 is in brackets. */
#define K2I_SPREAD_HOME_BYTES 288u
void k2i_spread_home(const char *host, const char *port, char home[K2I_SPREAD_HOME_BYTES]);

/*
 * The first `wanted` of `count` homes in the order of the path (rendezvous hashing): each path has an order of its own, in
 * which a new home finds its place and moves no other. `order` gets their indexes.
 */
void k2i_spread_order(const char *const *homes, uint32_t count, const char *path, uint32_t wanted, uint32_t *order);

/* How a lane stands that a chunk can go to. */
struct k2i_spread_lanes {
	uint32_t count; /* 1 or more */
	bool (*connected)(void *argument, uint32_t index);
	uint64_t (*unacked_bytes)(void *argument, uint32_t index);
	void *argument;
};

/*
 * A connected lane with few unacknowledged bytes; if none is connected, any with few. Up to 4 lanes are all compared; if
 * there are more, two are drawn and compared, since to look at a lane costs more than it gains. `random` is any number
 * but 0 at first, and changes.
 */
uint32_t k2i_spread_random(const struct k2i_spread_lanes *lanes, uint64_t *random);

#endif
