/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_CONNECTION_H
#define K2I_RECEIVER_CONNECTION_CONNECTION_H

#include "receiver/connection/loop.h"

/* A connection on its loop. All calls come from the loop's thread, or one that has its place (`serving`). */
#define K2I_PEER_BYTES_MAX 80u

struct k2i_connection;

/*
 * Takes the descriptor in every case. A `crowded` connection takes the place of the oldest ungreeted one, or is refused
 * when it greets. Errors are logged.
 */
void k2i_connection_start(struct k2i_loop *loop, int descriptor, const char *peer, bool crowded);
/* A sink that stores later has reported. It can be gone afterwards. */
void k2i_connection_stored(struct k2i_connection *connection, const struct k2i_sink_report *report);
/* A sink that had no room has some. It can be gone afterwards. */
void k2i_connection_ready(struct k2i_connection *connection);
/* The syncer has done a round. It can be gone afterwards. */
void k2i_connection_synced(struct k2i_connection *connection);
/*
 * Once a second: keeps time limits, and tries stalled connections again. `late_ns`: the tick came so much later. It can be
 * gone afterwards.
 */
void k2i_connection_tick(struct k2i_connection *connection, uint64_t now_ns, uint64_t late_ns);
/* Its loop waits for the disk, and another thread has its place. */
void k2i_connection_slow(struct k2i_connection *connection);
/* The connection of that session id; NULL: it is gone, or about to end. */
struct k2i_connection *k2i_connection_find(const struct k2i_loop *loop, uint64_t id);
/* The loop's next one; NULL: the first, or none. */
struct k2i_connection *k2i_connection_next(const struct k2i_loop *loop, const struct k2i_connection *connection);
/* The same ring has connected again. It can be gone afterwards. */
void k2i_connection_fence(struct k2i_connection *connection);
/* The name of its host was looked up. It can be gone afterwards. */
void k2i_connection_admit(struct k2i_connection *connection);
/* Commits what is complete: nothing more will be read. */
void k2i_connection_finish(struct k2i_connection *connection);
/* Whether a sink is still to store something of it. */
bool k2i_connection_waits(const struct k2i_connection *connection);
/* Ends it in good order, after all have finished: the last acknowledgement, BYE. It can be gone afterwards. */
void k2i_connection_bye(struct k2i_connection *connection);
/* At once. */
void k2i_connection_free(struct k2i_connection *connection);

#endif
