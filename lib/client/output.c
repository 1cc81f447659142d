/* SPDX-License-Identifier: MIT */
#include "client/state.h"

void k2i_client_output_reset(struct k2hft_client *client)
{
	struct k2i_client_output *output = &client->output;

	output->control_bytes = output->control_sent = 0;
	output->frame = output->full = false;
	output->frame_sent = 0;
}

uint8_t *k2i_client_control_room(struct k2hft_client *client, size_t bytes)
{
	struct k2i_client_output *output = &client->output;

	return sizeof(output->control) - output->control_bytes >= bytes ? output->control + output->control_bytes
									: NULL;
}

void k2i_client_control_add(struct k2hft_client *client, size_t bytes)
{
	client->output.control_bytes += bytes;
}

size_t k2i_client_control_taken(struct k2i_client_output *output, size_t bytes)
{
	size_t left = output->control_bytes - output->control_sent;
	size_t taken = bytes < left ? bytes : left;

	output->control_sent += taken;
	if (output->control_sent == output->control_bytes)
		output->control_sent = output->control_bytes = 0;
	return taken;
}

void k2i_client_socket_close(struct k2hft_client *client)
{
	k2i_dial_close(&client->dial);
	client->input.count = 0;
	k2i_client_sent_begin(client, 0);
	k2i_batch_reset(&client->data.batch, 0);
	client->life.ping_out = false;
	client->life.expected_ns = 0;
	client->data.claim_recover_ns = 0;
	client->data.pause = K2I_CLIENT_PAUSE_NONE;
	k2i_client_output_reset(client);
}
