/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/state.h"
#include "base/crash.h"
#include "base/text.h"

/* A receiver that sends without end must not keep the ring, or a program's loop, waiting. */
#define READS_MAX 16u

static const char *const status_texts[] = {
	[K2HFT_STATUS_OK] = "keeps up again",
	[K2HFT_STATUS_SLOW] = "is slow",
	[K2HFT_STATUS_FULL] = "has no room on its disk",
	[K2HFT_STATUS_FAILED] = "can't write its output",
};

static void protocol_refuse(struct k2hft_client *client, uint64_t now_ns, const char *what)
{
	k2i_client_refuse(client, K2HFT_ERROR_PROTOCOL, K2I_CLIENT_RETRY_SOON, now_ns, "%s", what);
}

static void status_log(struct k2hft_client *client, uint8_t status, uint64_t now_ns)
{
	client->stats.status = status;
	if (status == client->input.status_logged || !k2i_log_limit_due(&client->input.status_limit, now_ns))
		return;
	client->input.status_logged = status;
	k2i_log(status == K2HFT_STATUS_OK ? K2HFT_LOG_INFO : K2HFT_LOG_WARNING, "client: %s %s",
		client->dial.target->peer, status_texts[status]);
}

/* Once for all the ACKs that came together. */
static void ring_release(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->positions.released == client->positions.acked)
		return;
	K2I_CRASH(ack_taken);
	if (k2hft_ring_release(client->ring, client->positions.acked) < 0) {
		uint64_t position = client->positions.acked;

		client->positions.acked = client->positions.released;
		k2i_client_refuse(client, K2HFT_ERROR_POSITION, K2I_CLIENT_RETRY_SOON, now_ns,
				  "acknowledged position %" PRIu64 " is not one of the ring", position);
		return;
	}
	client->positions.released = client->positions.acked;
	client->failure.count = 0;
	if (client->options.progress)
		client->options.progress(client->options.progress_argument, client->positions.acked);
}

static void ack_take(struct k2hft_client *client, const uint8_t *body, size_t body_bytes, uint64_t now_ns)
{
	struct k2hft_ack ack;

	if (k2hft_ack_decode(body, body_bytes, &ack) < 0) {
		protocol_refuse(client, now_ns, "ACK is not well formed");
		return;
	}
	if (ack.level != client->positions.level) {
		protocol_refuse(client, now_ns, "ACK is of another level than WELCOME said");
		return;
	}
	int known = k2i_client_sent_acked(client, ack.position);
	if (known < 0 || ack.window_end < client->positions.window_end) {
		k2i_client_refuse(client, K2HFT_ERROR_POSITION, K2I_CLIENT_RETRY_SOON, now_ns,
				  "ACK of position %" PRIu64 ", window end %" PRIu64
				  ", which can't be: acknowledged were %" PRIu64 ", sent %" PRIu64,
				  ack.position, ack.window_end, client->positions.acked, client->positions.announced);
		return;
	}
	client->positions.window_end = ack.window_end;
	status_log(client, ack.status, now_ns);
	if (known <= 0)
		return;
	client->positions.acked = ack.position;
	client->stats.acked_ns = now_ns;
}

static void ping_take(struct k2hft_client *client, uint8_t type, const uint8_t *body, size_t body_bytes,
		      uint64_t now_ns)
{
	struct k2hft_ping ping;

	if (k2hft_ping_decode(body, body_bytes, &ping) < 0) {
		protocol_refuse(client, now_ns, "PING or PONG is not well formed");
		return;
	}
	if (type == K2HFT_FRAME_PONG) {
		if (ping.token == client->life.ping_token)
			client->life.ping_out = false;
		return;
	}
	/* Without room, which a peer that asks and does not read brings about, it goes without an answer. */
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_SHORT_ROOM);
	int bytes = room ? k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, room, K2I_CLIENT_SHORT_ROOM) : 0;
	if (bytes > 0)
		k2i_client_control_add(client, (size_t)bytes);
}

static void error_take(struct k2hft_client *client, const uint8_t *body, size_t body_bytes, uint64_t now_ns)
{
	struct k2hft_error_message error;

	if (k2hft_error_decode(body, body_bytes, &error) < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "ERROR is not well formed");
		return;
	}
	/* A caller that asks for the last error shows it. */
	k2i_text_controls_mask(error.text);
	client->stats.refusals++;
	if (error.code == K2HFT_ERROR_FENCED && client->state == K2HFT_CLIENT_GREETING)
		k2i_client_fenced(client, now_ns);
	bool final = error.code == K2HFT_ERROR_VERSION || error.code == K2HFT_ERROR_FENCED ||
		     error.code == K2HFT_ERROR_REFUSED;
	k2i_client_disconnect(client, final ? K2I_CLIENT_RETRY_LATE : K2I_CLIENT_RETRY_SOON, now_ns,
			      "the receiver refuses with code %u: %s", (unsigned)error.code, error.text);
}

static void welcome_take(struct k2hft_client *client, const uint8_t *body, size_t body_bytes, uint64_t now_ns)
{
	struct k2hft_welcome welcome;

	if (client->state != K2HFT_CLIENT_GREETING)
		protocol_refuse(client, now_ns, "a second WELCOME");
	else if (k2hft_welcome_decode(body, body_bytes, &welcome) < 0)
		protocol_refuse(client, now_ns, "WELCOME is not well formed");
	else
		k2i_client_welcome(client, &welcome, now_ns);
}

static void message_take(struct k2hft_client *client, uint8_t type, const uint8_t *body, size_t body_bytes,
			 uint64_t now_ns)
{
	bool greeting = client->state == K2HFT_CLIENT_GREETING;

	if (type == K2HFT_FRAME_WELCOME)
		welcome_take(client, body, body_bytes, now_ns);
	else if (type == K2HFT_FRAME_ERROR)
		error_take(client, body, body_bytes, now_ns);
	else if (type == K2HFT_FRAME_BYE)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "the receiver ended the connection");
	else if (type == K2HFT_FRAME_ACK && !greeting)
		ack_take(client, body, body_bytes, now_ns);
	else if ((type == K2HFT_FRAME_PING || type == K2HFT_FRAME_PONG) && !greeting)
		ping_take(client, type, body, body_bytes, now_ns);
	else
		protocol_refuse(client, now_ns, "a frame that a receiver may not send now");
}

static void header_refuse(struct k2hft_client *client, int error, uint64_t now_ns)
{
	if (error == -EPROTO && client->state == K2HFT_CLIENT_GREETING)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_LATE, now_ns,
				      "what answers is no receiver: is this PORT another program's, or CTLPORT?");
	else if (error == -EMSGSIZE)
		k2i_client_refuse(client, K2HFT_ERROR_LIMIT, K2I_CLIENT_RETRY_SOON, now_ns,
				  "a frame is longer than allowed");
	else
		protocol_refuse(client, now_ns, "a frame's header is not well formed");
}

/* How many bytes the first frame has, 0 if it is not complete; the connection is over if it is wrong. */
static size_t frame_check(struct k2hft_client *client, const uint8_t *bytes, size_t byte_count,
			  struct k2hft_frame *frame, uint64_t now_ns)
{
	int error = k2hft_frame_header_decode(bytes, byte_count, K2HFT_MESSAGE_BYTES_MAX, frame);

	if (error == -EAGAIN)
		return 0;
	if (error < 0) {
		header_refuse(client, error, now_ns);
		return 0;
	}
	size_t whole = K2HFT_FRAME_HEADER_BYTES + (size_t)frame->body_bytes;
	if (byte_count < whole)
		return 0;
	if (k2hft_frame_verify(bytes, frame, bytes + K2HFT_FRAME_HEADER_BYTES) < 0) {
		k2i_client_refuse(client, K2HFT_ERROR_CHECKSUM, K2I_CLIENT_RETRY_SOON, now_ns,
				  "a frame's checksum is wrong");
		return 0;
	}
	return whole;
}

static void frames_take(struct k2hft_client *client, uint64_t now_ns)
{
	size_t at = 0;

	while (client->dial.transport.descriptor >= 0) {
		struct k2hft_frame frame;
		const uint8_t *bytes = client->input.bytes + at;
		size_t whole = frame_check(client, bytes, client->input.count - at, &frame, now_ns);

		if (whole == 0)
			break;
		at += whole;
		message_take(client, frame.type, bytes + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes, now_ns);
	}
	if (client->dial.transport.descriptor < 0)
		return; /* nothing that came from it counts any more */
	memmove(client->input.bytes, client->input.bytes + at, client->input.count - at);
	client->input.count -= at;
}

static void input_receive(struct k2hft_client *client, uint64_t now_ns)
{
	ssize_t count = k2i_transport_read(&client->dial.transport, client->input.bytes + client->input.count,
					   sizeof(client->input.bytes) - client->input.count);

	if (count == -EAGAIN)
		return;
	if (count <= 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s",
				      count == 0 ? "the receiver closed the connection"
						 : k2i_transport_reason(&client->dial.transport, (int)count));
		return;
	}
	client->life.received_ns = now_ns;
	client->input.count += (size_t)count;
	frames_take(client, now_ns);
	ring_release(client, now_ns);
	k2i_client_name_next(client);
	client->life.expected_ns = k2i_client_answer_outstanding(client) ? now_ns : 0;
}

void k2i_client_receive(struct k2hft_client *client, uint64_t now_ns)
{
	unsigned reads = 0;

	do
		input_receive(client, now_ns);
	while (k2i_transport_more(&client->dial.transport) && ++reads < READS_MAX);
}
