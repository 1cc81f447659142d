/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "client/state.h"

static uint64_t *end_at(struct k2hft_client *client, size_t index)
{
	return &client->sent_ends[(client->sent_first + index) & (K2I_CLIENT_SENT_MAX - 1)];
}

void k2i_client_sent_add(struct k2hft_client *client, uint64_t end)
{
	*end_at(client, client->sent_count++) = end;
}

int k2i_client_sent_acked(struct k2hft_client *client, uint64_t position)
{
	if (position < client->ack_floor)
		return -EBADMSG;
	if (position == client->ack_floor || position <= client->acked)
		return 0;
	if (client->sent_count == 0 || position > *end_at(client, client->sent_count - 1))
		return -EBADMSG;
	while (client->sent_count > 0 && *end_at(client, 0) <= position) {
		client->sent_first++;
		client->sent_count--;
	}
	return 1;
}

bool k2i_client_answer_outstanding(const struct k2hft_client *client)
{
	return client->sent_count > 0 || client->ping_out || client->output.frame;
}
