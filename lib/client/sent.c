/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "client/state.h"

static uint64_t *end_at(struct k2hft_client *client, size_t index)
{
	return &client->sent.ends[(client->sent.first + index) & (K2I_CLIENT_SENT_MAX - 1)];
}

void k2i_client_sent_add(struct k2hft_client *client, uint64_t end)
{
	if (client->sent.count == K2I_CLIENT_SENT_MAX)
		client->sent.count--;
	*end_at(client, client->sent.count++) = end;
}

void k2i_client_sent_begin(struct k2hft_client *client, uint64_t floor)
{
	client->sent.count = 0;
	client->sent.floor = floor;
}

int k2i_client_sent_acked(struct k2hft_client *client, uint64_t position)
{
	bool more = position > client->sent.floor && position > client->positions.acked;

	if (position < client->sent.floor ||
	    (more && (client->sent.count == 0 || position > *end_at(client, client->sent.count - 1))))
		return -EBADMSG;
	client->sent.floor = position;
	if (!more)
		return 0;
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
