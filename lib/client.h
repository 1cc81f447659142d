/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_H
#define K2I_CLIENT_H

#include <k2hft/client.h>

/*
 * `hook` is called from within process when a claim stands in the way of the next frame, the connection is up and the
 * window open; once after each k2hft_ring_sleep; and while the client does not look at the ring, when claims were begun:
 * whoever holds a claim can commit what is there. Set it before the first process; NULL: none.
 */
void k2i_client_claim_hook_set(struct k2hft_client *client, void (*hook)(void *argument), void *argument);

/* Whoever has set a hook began a claim, which must be to be seen (seq_cst) for the hook before. Any thread. */
void k2i_client_claim_begun(struct k2hft_client *client);

#endif
