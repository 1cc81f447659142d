/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_MEMORY_PRESSURE_H
#define K2I_RECEIVER_CONNECTION_MEMORY_PRESSURE_H

#include "receiver/connection/state.h"

/*
 * When BUFFERMAX is used up: a connection whose frame needs memory is starved and waits; one that has memory gives way if
 * its frame stands still or takes too long.
 */
void k2i_hunger_set(struct k2i_connection *connection, bool starved);
/* Room in the buffer. 0, also if there was some; else as k2i_buffer_grow: after -ENOBUFS it is starved. */
int k2i_hunger_room(struct k2i_connection *connection);
/* So much has just come of the frame, heard_ns is when. */
void k2i_hunger_moved(struct k2i_connection *connection, size_t bytes);
/* Whether its frame has used memory for longer than it may while others wait. */
bool k2i_hunger_over(const struct k2i_connection *connection, uint64_t now_ns);
/* Whether it waits for memory, or is over while others do. */
bool k2i_hunger_shared(const struct k2i_connection *connection, uint64_t now_ns);

#endif
