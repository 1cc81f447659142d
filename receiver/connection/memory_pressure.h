/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_MEMORY_PRESSURE_H
#define K2I_RECEIVER_CONNECTION_MEMORY_PRESSURE_H

#include "receiver/connection/state.h"

/*
 * BUFFERMAX is used up: a connection whose frame needs memory is starved and waits; a connection that has memory gives
 * way if its frame stands still or takes too long.
 */
void k2i_memory_pressure_set(struct k2i_connection *connection, bool starved);
/* Makes room in the buffer if there is none. 0, or as k2i_buffer_grow: after -ENOBUFS the connection is starved. */
int k2i_memory_pressure_room(struct k2i_connection *connection);
/* Notes that `bytes` of the frame came at heard_ns. */
void k2i_memory_pressure_moved(struct k2i_connection *connection, size_t bytes);
/* Whether its frame has used memory for longer than it may while others wait. */
bool k2i_memory_pressure_over(const struct k2i_connection *connection, uint64_t now_ns);
/* Whether it is starved, or over its time while others are starved. */
bool k2i_memory_pressure_shared(const struct k2i_connection *connection, uint64_t now_ns);

#endif
