/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "client/state.h"
#include "base/crash.h"

/* After so much a call of process returns, so that acknowledgements are read and a caller's loop goes round. */
#define BUDGET_FRAMES 64u
#define BUDGET_BYTES (8u * 1024 * 1024)
/* A busy loopback leaves less behind for a moment. */
#define UNSENT_BYTES_BUSY (64u * 1024)

static bool output_empty(const struct k2i_client_output *output)
{
	return !output->frame && output->control_sent == output->control_bytes;
}

static size_t control_pieces(struct k2i_client_output *output, struct iovec *pieces)
{
	size_t bytes = output->control_bytes - output->control_sent;

	pieces[0] = (struct iovec){output->control + output->control_sent, bytes};
	return bytes > 0;
}

static size_t frame_pieces(struct k2i_client_output *output, struct iovec *pieces)
{
	size_t count = 0, header_sent = output->frame_sent, body_sent = 0;

	if (!output->frame)
		return 0;
	if (header_sent > sizeof(output->header)) {
		body_sent = header_sent - sizeof(output->header);
		header_sent = sizeof(output->header);
	}
	if (header_sent < sizeof(output->header))
		pieces[count++] = (struct iovec){output->header + header_sent, sizeof(output->header) - header_sent};
	pieces[count++] = (struct iovec){(uint8_t *)output->body + body_sent, output->body_bytes - body_sent};
	return count;
}

static void frame_done(struct k2hft_client *client)
{
	struct k2i_client_output *output = &client->output;

	output->frame = false;
	output->frame_sent = 0;
	k2i_client_sent_add(client, output->end);
	client->stats.sent_frames++;
	client->stats.sent_bytes += sizeof(output->header) + output->body_bytes;
	client->stats.sent_records += output->record_count;
	if (output->position < client->positions.sent_max)
		client->stats.resent_frames++;
	if (client->positions.sent_max < output->end)
		client->positions.sent_max = output->end;
}

static size_t frame_taken(struct k2hft_client *client, size_t bytes)
{
	struct k2i_client_output *output = &client->output;

	if (!output->frame)
		return 0;
	size_t left = sizeof(output->header) + output->body_bytes - output->frame_sent;
	size_t taken = bytes < left ? bytes : left;

	output->frame_sent += taken;
	if (taken == left)
		frame_done(client);
	return taken;
}

static void socket_progress(struct k2hft_client *client, size_t bytes, uint64_t now_ns)
{
	client->life.written_bytes += bytes;
	/* A PONG wants no answer: whatever wants one later has all its time from then on. */
	if (client->life.expected_ns == 0 && k2i_client_answer_outstanding(client))
		client->life.expected_ns = now_ns;
	k2i_link_sent(&client->link, bytes);
}

/* Writes once. 1: everything is out; 0: the socket is full; -errno. */
static int output_write(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_output *output = &client->output;
	bool frame_first = output->frame && output->frame_sent > 0;
	struct iovec pieces[3];
	size_t count = 0, wanted = 0;

	count = frame_first ? frame_pieces(output, pieces) : control_pieces(output, pieces);
	count += frame_first ? control_pieces(output, pieces + count) : frame_pieces(output, pieces + count);
	for (size_t index = 0; index < count; index++)
		wanted += pieces[index].iov_len;
	if (output->frame)
		K2I_CRASH(frame_send_before);
	ssize_t written = k2i_transport_write(&client->dial.transport, pieces, (int)count);
	if (output->frame)
		K2I_CRASH(frame_sent);
	if (written == -EAGAIN)
		return 0;
	if (written < 0)
		return (int)written;
	size_t left = (size_t)written;
	left -= frame_first ? frame_taken(client, left) : k2i_client_control_taken(output, left);
	left -= frame_first ? k2i_client_control_taken(output, left) : frame_taken(client, left);
	socket_progress(client, (size_t)written, now_ns);
	return left == 0 && (size_t)written == wanted && !k2i_transport_waiting(&client->dial.transport);
}

/* Writes what is there: 1 everything is out, 0 the socket is full, -errno. */
static int output_flush(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_output *output = &client->output;
	int done = k2i_transport_flush(&client->dial.transport);

	if (done > 0 && output_empty(output)) {
		output->full = false;
		return 1;
	}
	if (done > 0)
		done = output_write(client, now_ns);
	output->full = done == 0;
	if (done == 0)
		k2i_link_full(&client->link, now_ns);
	return done;
}

static void link_measure(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->options.compress == K2HFT_COMPRESS_AUTO && k2i_link_measured(&client->link, now_ns))
		k2i_link_judge(&client->link, k2i_transport_peer_limited_ns(&client->dial.transport), now_ns);
}

/*
 * There is nothing to send. A socket can have taken all that the ring holds and still be busy with it, since a ring is
 * often smaller than what a socket's buffer grows to: the network is the bottleneck then just as when the socket is full.
 */
static void link_pause(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->options.compress == K2HFT_COMPRESS_AUTO &&
	    k2i_transport_unsent_bytes(&client->dial.transport) >= UNSENT_BYTES_BUSY)
		k2i_link_full(&client->link, now_ns);
	else
		k2i_link_idle(&client->link);
}

int k2i_client_send(struct k2hft_client *client, uint64_t now_ns)
{
	uint64_t bytes_before = client->stats.sent_bytes;

	link_measure(client, now_ns);
	for (unsigned frames = 0; frames < BUDGET_FRAMES; frames++) {
		int done = output_flush(client, now_ns);

		client->data.pause = K2I_CLIENT_PAUSE_SOCKET;
		if (done < 0)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s",
					      k2i_transport_reason(&client->dial.transport, done));
		if (done <= 0 || client->state != K2HFT_CLIENT_CONNECTED)
			return 0;
		client->data.pause = K2I_CLIENT_PAUSE_NONE;
		if (client->stats.sent_bytes - bytes_before > BUDGET_BYTES)
			return 0;
		done = k2i_client_frame_next(client, now_ns);
		if (done < 0)
			return done;
		if (done == 0) {
			link_pause(client, now_ns);
			return 0;
		}
	}
	return 0;
}
