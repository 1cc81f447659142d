/* SPDX-License-Identifier: MIT */
/* Who sends: the client's thread, or a producer that has just committed much. */

#include "client/state.h"
#include "base/clock.h"
#include "ring/handle.h"

/* Who commits so much at once goes on doing so. Less is left to the thread, which makes larger frames of many chunks. */
#define MUCH_BYTES ((size_t)64 * 1024)
/* How long after it the thread is to be there again. */
#define MUCH_IDLE_MS 2

bool k2i_client_turn_suits(const struct k2hft_client *client, uint64_t now_ns)
{
	return !client->secure && client->state == K2HFT_CLIENT_CONNECTED &&
	       !k2i_link_compress(&client->link, client->options.compress, now_ns);
}

bool k2i_client_turn_take(struct k2hft_client *client, uint64_t now_ns)
{
	if (pthread_mutex_trylock(&client->turn))
		return false;
	if (!k2i_client_turn_suits(client, now_ns)) {
		(void)pthread_mutex_unlock(&client->turn);
		return false;
	}
	client->turns_taken++;
	return true;
}

void k2i_client_turn_give(struct k2hft_client *client)
{
	/* What the thread waits for is older than the turn: it looks anew. */
	client->lent = false;
	k2i_client_interrupt(client);
	(void)pthread_mutex_unlock(&client->turn);
}

void k2i_turn_committed(struct k2i_turn *turn, size_t bytes, uint64_t now_ns)
{
	turn->much_ns = bytes >= MUCH_BYTES ? now_ns : 0;
}

static bool turn_suits(struct k2i_turn *turn, uint64_t now_ns)
{
	if (turn->much_ns == 0 || now_ns - turn->much_ns > MUCH_IDLE_MS * K2I_MILLISECOND_NS)
		return false;
	if (turn->taken)
		return k2i_client_turn_suits(turn->client, now_ns);
	turn->taken = k2i_client_turn_take(turn->client, now_ns);
	return turn->taken;
}

int k2i_turn_send(struct k2i_turn *turn, uint64_t now_ns)
{
	int wait_ms;

	if (!turn_suits(turn, now_ns) || k2hft_client_process(turn->client, now_ns)) {
		k2i_turn_end(turn);
		return -1;
	}
	wait_ms = k2hft_client_timeout_ms(turn->client, now_ns);
	return wait_ms >= 0 && wait_ms < MUCH_IDLE_MS ? wait_ms : MUCH_IDLE_MS;
}

int k2i_turn_descriptor(const struct k2i_turn *turn)
{
	return turn->taken ? k2hft_client_descriptor(turn->client) : -1;
}

void k2i_turn_waited(const struct k2i_turn *turn)
{
	if (turn->taken)
		k2i_consumer_stir(turn->client->ring);
}

void k2i_turn_end(struct k2i_turn *turn)
{
	if (turn->taken)
		k2i_client_turn_give(turn->client);
	turn->taken = false;
}
