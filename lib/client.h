/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_H
#define K2I_CLIENT_H

#include <stdbool.h>

#include <k2hft/client.h>

/*
 * `hook` is called from within process when a claim stands in the way of the next frame, the connection is up and the
 * window open; once after each k2hft_ring_sleep; and while the client does not look at the ring, when claims were begun:
 * whoever holds a claim can commit what is there. Set it before the first process; NULL: none.
 */
void k2i_client_claim_hook_set(struct k2hft_client *client, void (*hook)(void *argument), void *argument);

/* Whoever has set a hook began a claim, which must be to be seen (seq_cst) for the hook before. Any thread. */
void k2i_client_claim_begun(struct k2hft_client *client);

/*
 * For a client with a thread, and a producer with a loop that commits much at a time: what it committed is still in its
 * processor's cache, so it sends that itself and lets the client's thread sleep. turn_take makes the caller the one who
 * calls process and heeds descriptor and time-out, until turn_give. false: the client's thread is at work, or the turn
 * does not suit. turn_suits, with the turn: there is a connection, and nothing to do that is better done beside the
 * producer's work (TLS, compression). Whoever has the turn must not wait for the client (drain, close).
 */
bool k2i_client_turn_take(struct k2hft_client *client, uint64_t now_ns);
bool k2i_client_turn_suits(const struct k2hft_client *client, uint64_t now_ns);
void k2i_client_turn_give(struct k2hft_client *client);

#endif
