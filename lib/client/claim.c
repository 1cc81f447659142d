/* SPDX-License-Identifier: MIT */
/* Claims whose owners wait to be asked: the client asks when they stand in its way, and when it does not come by. */
#include "client/state.h"

/* How long a record stays uncommitted, at most about, while there is no connection or no room in the window. */
#define SEAL_INTERVAL_NS UINT64_C(20000000)

void k2i_client_claim_hook_set(struct k2hft_client *client, void (*hook)(void *argument), void *argument)
{
	client->claims.hook = hook;
	client->claims.argument = argument;
	atomic_store_explicit(&client->claims.watched, true, memory_order_relaxed); /* no thread yet */
}

void k2i_client_claim_begun(struct k2hft_client *client)
{
	/* seq_cst, with the store below: the hook finds the claim, or this finds that it is watched for. */
	if (atomic_load_explicit(&client->claims.watched, memory_order_seq_cst) &&
	    atomic_exchange_explicit(&client->claims.watched, false, memory_order_seq_cst))
		k2i_client_interrupt(client);
}

void k2i_client_claim_busy_set(struct k2hft_client *client, const _Atomic(uint64_t) *busy_ns)
{
	client->claims.busy_ns = busy_ns; /* no thread yet */
}

uint64_t k2i_client_claims_ask_at(const struct k2hft_client *client)
{
	/* A writer that is asked too often makes chunks that are too small: see K2I_BATCH_GATHER_FRAMES. */
	uint64_t last_ns = client->sent.count ? client->data.cut_ns : 0;

	/* relaxed: a hint. A claim that was looked at before has waited long enough. */
	if (client->claims.busy_ns && client->data.claim_recover_ns == 0) {
		uint64_t busy_ns = atomic_load_explicit(client->claims.busy_ns, memory_order_relaxed);

		last_ns = busy_ns > last_ns ? busy_ns : last_ns;
	}
	return last_ns ? last_ns + K2I_BATCH_GATHER_NS : 0;
}

void k2i_client_claims_ask(struct k2hft_client *client)
{
	client->claims.hook(client->claims.argument);
}

static bool ring_looked_at(const struct k2hft_client *client)
{
	return client->state == K2HFT_CLIENT_CONNECTED &&
	       (client->data.pause == K2I_CLIENT_PAUSE_NONE || client->data.pause == K2I_CLIENT_PAUSE_RING ||
		client->data.pause == K2I_CLIENT_PAUSE_CLAIM);
}

uint64_t k2i_client_claims_due(const struct k2hft_client *client)
{
	return client->claims.hook && client->claims.begun && !ring_looked_at(client) ? client->claims.due_ns
										      : UINT64_MAX;
}

void k2i_client_claims_seal(struct k2hft_client *client, uint64_t now_ns)
{
	if (now_ns < k2i_client_claims_due(client))
		return;
	client->claims.begun = false;
	client->claims.due_ns = now_ns + SEAL_INTERVAL_NS;
	atomic_store_explicit(&client->claims.watched, true, memory_order_seq_cst);
	k2i_client_claims_ask(client);
}
