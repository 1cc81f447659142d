/* SPDX-License-Identifier: MIT */
/* A connection that the client ends while a frame is half on its way. */
#include "unit.h"
#include "client_peer.h"

#include "client/state.h"
#include "frame/wire.h"
#include "base/byte_order.h"

#define BLOCK_BYTES (1024u * 1024)
#define ALL_BYTES (16 * BLOCK_BYTES)

struct cut {
	uint8_t *bytes; /* all that came */
	size_t count;
};

/* Reads the bytes that are there now. False: the connection is over. */
static bool cut_receive(struct fixture *f, struct cut *cut)
{
	ssize_t got = recv(f->peer, cut->bytes + cut->count, ALL_BYTES - cut->count, 0);

	assert_true(got >= 0 || errno == EAGAIN);
	cut->count += got > 0 ? (size_t)got : 0;
	assert_true(cut->count < ALL_BYTES);
	return got != 0;
}

/* Half a frame is on its way, and there is room in the socket for more than its rest. */
static void cut_begin(struct fixture *f, struct cut *cut)
{
	uint8_t *block = calloc(1, BLOCK_BYTES);

	*cut = (struct cut){.bytes = malloc(ALL_BYTES)};
	socket_fill(f, 12, block, BLOCK_BYTES);
	assert_in_range(f->client->output.frame_sent, 1, BLOCK_BYTES);
	for (int round = 0; !readable(f); round++) {
		assert_true(round < ROUNDS_MAX);
		assert_true(cut_receive(f, cut));
		(void)poll(NULL, 0, 1);
	}
	free(block);
}

/* A receiver would take what is said in a frame for its records. */
static void nothing_is_said_in_the_frame(struct fixture *f, struct cut *cut)
{
	struct pollfd peer = {.fd = f->peer, .events = POLLIN};
	uint8_t magic[4];
	struct k2hft_frame frame;
	size_t at = 0;

	for (int round = 0; cut_receive(f, cut); round++) {
		assert_true(round < ROUNDS_MAX);
		assert_true(poll(&peer, 1, 10000) == 1);
	}
	while (k2hft_frame_header_decode(cut->bytes + at, cut->count - at, PEER_BODY_BYTES, &frame) == 0 &&
	       cut->count - at >= K2HFT_FRAME_HEADER_BYTES + frame.body_bytes)
		at += K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
	assert_int_equal(frame.type, K2HFT_FRAME_DATA);
	assert_in_range(cut->count - at, K2HFT_FRAME_HEADER_BYTES + 1, BLOCK_BYTES);
	k2i_wire_u32_put(magic, K2I_FRAME_MAGIC);
	assert_null(memmem(cut->bytes + at + 1, cut->count - at - 1, magic, sizeof(magic)));
	free(cut->bytes);
}

CLIENT_TEST(no_good_bye_within_a_frame)
{
	struct cut cut;

	cut_begin(f, &cut);
	k2hft_client_close(f->client);
	f->client = NULL;
	nothing_is_said_in_the_frame(f, &cut);
}

CLIENT_TEST(no_error_within_a_frame)
{
	struct cut cut;

	cut_begin(f, &cut);
	peer_send(f, "HTTP/1.1 400 Bad Request\r\n\r\n                  ", 46);
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_non_null(strstr(stats_of(f).last_error, "header"));
	nothing_is_said_in_the_frame(f, &cut);
}

/* The answer to PING waits behind the frame. */
CLIENT_TEST(nothing_is_left_for_the_next_connection)
{
	uint8_t *block = calloc(1, BLOCK_BYTES);
	struct k2hft_ping ping = {.token = 1};
	uint8_t bytes[128];

	socket_fill(f, 12, block, BLOCK_BYTES);
	peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, sizeof(bytes)));
	for (int round = 0; f->client->output.control_bytes == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	peer_close(f);
	state_await(f, K2HFT_CLIENT_WAITING);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(peer_data(f).frame.position, 0);
	free(block);
}
