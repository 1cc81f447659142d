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
