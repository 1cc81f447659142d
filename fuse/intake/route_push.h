/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_ROUTE_PUSH_H
#define K2I_FUSE_INTAKE_ROUTE_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct k2i_mount;
struct k2i_records;
struct k2i_route;

/* Records as a chunk counts them. */
uint32_t k2i_records_count(const struct k2i_mount *mount, const char *data, size_t bytes);
/* Commits records that stand at `offset` in the lane's claim as a chunk of the route's stream, see k2i_lane_commit. */
int k2i_route_commit(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t offset,
		     bool answered);

/* -ENOMEM: nothing is added. */
int k2i_route_add_pending(struct k2i_route *route, const struct k2i_records *records);
/* Puts pending records into the ring. -EAGAIN: it is full, some are pending still. */
int k2i_route_push(struct k2i_mount *mount, struct k2i_route *route);
/* The mount ends, and there was no room for the pending records; returns how many there were. */
uint64_t k2i_route_forget_pending(struct k2i_mount *mount, struct k2i_route *route);
/* Counts and logs that a record goes on in another chunk. */
void k2i_route_count_piece(struct k2i_mount *mount, const struct k2i_route *route);
/* Whether what is pending is a piece, which must be alone. */
bool k2i_route_has_piece(const struct k2i_route *route);
size_t k2i_route_pending(const struct k2i_route *route);

/*
 * Ends lines of which pieces are out and the full ring dropped the rest: the next line of their stream, by any writer,
 * would go on with them. It goes before all else, and a route that misses a newline outlives its file. -EAGAIN: no
 * room.
 */
int k2i_routes_terminate(struct k2i_mount *mount);
/* The mount ends: frees closed routes that miss a newline still, and gives streams back. */
void k2i_routes_forget(struct k2i_mount *mount);

#endif
