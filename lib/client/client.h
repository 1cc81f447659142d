/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_CLIENT_H
#define K2I_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>

/* Fills in defaults. -EINVAL an option is out of range or missing; the files of `tls` are not looked at. */
int k2i_client_options_check(struct k2hft_client_options *options);

/*
 * `hook` is called from within process when a claim stands in the way of the next frame, the connection is up and the
 * window open; once after each k2hft_ring_sleep; and while the client does not look at the ring, when claims were begun:
 * the owner of a claim can commit its records. Set it before the first process; NULL: none.
 */
void k2i_client_claim_hook_set(struct k2hft_client *client, void (*hook)(void *argument), void *argument);
/* While `*busy_ns`, a time, is young, owners of claims come by soon: those of a claim are asked when it is found again. */
void k2i_client_claim_busy_set(struct k2hft_client *client, const _Atomic(uint64_t) *busy_ns);

/*
 * For a producer that has begun a claim and stored (seq_cst) where the hook finds it: interrupts a client that does not
 * look at the ring. The client stores that it watches for claims, then calls the hook; the producer stores the claim,
 * then loads that. So at least one of the two sees the other's store, and no claim is left uncommitted. Any thread.
 */
void k2i_client_claim_begun(struct k2hft_client *client);

/* A lease, see k2hft_lease_send: false, it is not to be had. Its owner must not wait for the client. */
bool k2i_lease_take(struct k2hft_client *client, uint64_t now_ns);
void k2i_lease_give(struct k2hft_client *client);

/* Sends what is committed on this thread, if a lease for that is to be had. */
void k2i_client_send_once(struct k2hft_client *client);
/*
 * Waits for room for `bytes` of payload in a ring that is full, and runs the client meanwhile. 0 there may be room;
 * -EINTR; -EBUSY a lease, or a wait with it, is not to be had, and others make room.
 */
int k2i_client_room_wait(struct k2hft_client *client, size_t bytes, int timeout_ms);
/* For a caller that finds the ring full and does not wait: the client's thread goes on at once, if it yields. */
void k2i_client_yield_end(struct k2hft_client *client);

/* A receiver's name, port and TLS. -EINVAL, which the log explains */
int k2i_client_target_check(const struct k2hft_target *target);

/* Whether it is connected, as of the end of the last process. Any thread. */
bool k2i_client_connected(const struct k2hft_client *client);

/*
 * As k2hft_client_drain, of a client with a thread: waits until all below position `target` is acknowledged or given up.
 * So a caller can wait in turns, and not for what is written meanwhile.
 */
int k2i_client_drained_wait(struct k2hft_client *client, uint64_t target, int timeout_ms);

/* The client has ended for good: its ring can't be used any more, or OpenSSL has ended. Any thread. */
bool k2i_client_failed(struct k2hft_client *client);

#endif
