/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_H
#define K2I_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>

/* Fills in defaults. -EINVAL an option is out of range or missing; the files of `tls` are not looked at. */
int k2i_client_options_check(struct k2hft_client_options *options);

/*
 * `hook` is called from within process when a claim stands in the way of the next frame, the connection is up and the
 * window open; once after each k2hft_ring_sleep; and while the client does not look at the ring, when claims were begun:
 * whoever holds a claim can commit what is there. Set it before the first process; NULL: none.
 */
void k2i_client_claim_hook_set(struct k2hft_client *client, void (*hook)(void *argument), void *argument);

/* No other client will have the ring after this one, which says so when it is closed. Set it before the first process. */
void k2i_client_ring_ends(struct k2hft_client *client);

/*
 * watch has the client look, now and every minute, when the certificate expires that its next connection shows; before
 * the first process. expires_s: in seconds since 1970; 0: there is none, or its file was never readable. Any thread.
 */
void k2i_client_certificate_watch(struct k2hft_client *client);
uint64_t k2i_client_certificate_expires_s(struct k2hft_client *client);

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

/*
 * For a producer without a loop, which need not come again: the turn is lent for one call. While it is lent time and
 * again the thread stands by: it wakes only to see whether that goes on, and else sends what was left.
 *
 * turn_once sends what is committed, if the turn is to be had. room_wait waits for room in a ring that is full, and does
 * what there is to do meanwhile: 0, there may be room; -EINTR; -EBUSY: the turn, or a wait with it, is not to be had, and
 * others make room. standby_end is for who finds the ring full and does not wait: the thread goes on at once.
 */
void k2i_client_turn_once(struct k2hft_client *client);
int k2i_client_room_wait(struct k2hft_client *client, int timeout_ms);
void k2i_client_standby_end(struct k2hft_client *client);

/* Whether its thread has ended since the ring can't be used any more. Any thread. */
bool k2i_client_failed(struct k2hft_client *client);

/* The turn for one that keeps it as long as it commits much. Its loop: send, wait, waited, commit, committed. */
struct k2i_turn {
	struct k2hft_client *client;
	bool taken;       /* this thread sends */
	uint64_t much_ns; /* when much was last committed at once; 0: less was since */
};

/* `bytes` at once, which send may then send. */
void k2i_turn_committed(struct k2i_turn *turn, size_t bytes, uint64_t now_ns);
/* Sends, if it is this thread's turn: when to call again at the latest, in milliseconds. -1: it is not. */
int k2i_turn_send(struct k2i_turn *turn, uint64_t now_ns);
/* What a wait must end for, too, to be read from; -1: nothing. */
int k2i_turn_descriptor(const struct k2i_turn *turn);
/* After a wait: commits wake nobody, since what they bring is sent before the next wait. */
void k2i_turn_waited(const struct k2i_turn *turn);
/* Before any wait without the descriptor. The client's thread goes on. */
void k2i_turn_end(struct k2i_turn *turn);

#endif
