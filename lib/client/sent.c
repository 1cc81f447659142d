/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "client/state.h"

static uint64_t *end_at(struct k2hft_client *client, size_t index)
{
	return &client->sent.ends[(client->sent.first + index) & (K2I_CLIENT_SENT_MAX - 1)];
}

void k2i_client_sent_add(struct k2hft_client *client, uint64_t end)
{
	*end_at(client, client->sent.count++) = end;
}

int k2i_client_sent_acked(struct k2hft_client *client, uint64_t position)
{
	if (position < client->sent.floor)
		return -EBADMSG;
	if (position == client->sent.floor || position <= client->positions.acked)
		return 0;
	if (client->sent.count == 0 || position > *end_at(client, client->sent.count - 1))
		return -EBADMSG;
	while (client->sent.count > 0 && *end_at(client, 0) <= position) {
		client->sent.first++;
		client->sent.count--;
	}
	return 1;
}

bool k2i_client_answer_outstanding(const struct k2hft_client *client)
{
	return client->sent.count > 0 || client->life.ping_out || client->output.frame;
}
