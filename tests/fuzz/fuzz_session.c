/* SPDX-License-Identifier: MIT */
/*
 * The receiver's session with all that is behind it (ledger, rings, output files, quarantine), fed with what a sender
 * sends. When a session ends, the rest of the input comes over the next connection.
 */
#include "receiver_world.h"

#define PEERS 2u
#define SESSIONS_MAX 12u
#define STEPS_MAX 200u

/* Requests of the control byte, beside the WORLD_ and FRAMES_ ones. */
#define TWINS 16u   /* two connections, which get the same bytes in turn */
#define BLOCKED 32u /* the peer does not read its answers at once */
#define AGAIN 64u   /* the receiver ends and starts again between two connections */
#define CUT 128u    /* the other connection of a ring is told that it was fenced */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return frames_mutate(data, size, max_size, seed);
}

struct peer {
	struct k2i_session session;
	const uint8_t *bytes;
	size_t byte_count, given, done, wanted;
	uint64_t acked;
	unsigned sessions, holds;
	bool open;
};

static uint64_t last_id;

/* A connection --------------------------------------------------------------------------------------------------- */

/* Answers are whole frames, and an acknowledgement never goes back or says more than was promised. */
static void answers_check(struct peer *peer)
{
	const uint8_t *bytes = peer->session.output;
	size_t left = peer->session.output_bytes, length;
	struct k2hft_frame frame;

	for (; left > 0; bytes += length, left -= length) {
		struct k2hft_ack ack;

		fuzz_check(k2hft_frame_header_decode(bytes, left, K2HFT_MESSAGE_BYTES_MAX, &frame) == 0);
		length = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
		fuzz_check(length <= left);
		fuzz_check(k2hft_frame_verify(bytes, &frame, bytes + K2HFT_FRAME_HEADER_BYTES) == 0);
		if (frame.type != K2HFT_FRAME_ACK)
			continue;
		fuzz_check(k2hft_ack_decode(bytes + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes, &ack) == 0);
		fuzz_check(ack.position >= peer->acked && ack.position <= peer->session.committed);
		fuzz_check(ack.window_end <= peer->session.window_end);
		peer->acked = ack.position;
	}
	peer->session.output_bytes = 0;
}

static void peer_open(struct world *world, struct peer *peer)
{
	struct k2i_owner owner = {NULL, ++last_id};

	k2i_session_start(&peer->session, &world->shared, owner, "peer");
	peer->open = true;
	peer->done = peer->given;
	peer->acked = 0;
	peer->wanted = 1;
	peer->holds = 0;
	peer->sessions++;
}

static void peer_close(struct peer *peer)
{
	if (!peer->open)
		return;
	answers_check(peer);
	k2i_session_end(&peer->session);
	peer->open = false;
}

/* As connection.c does it, but that the bytes have no room behind them. */
static void input_give(struct world *world, struct peer *peer)
{
	size_t byte_count = peer->given - peer->done, consumed = 0;
	uint8_t *bytes = fuzz_copy(peer->bytes + peer->done, byte_count);
	enum k2i_session_result result = k2i_session_input(&peer->session, bytes, byte_count, &consumed, &peer->wanted);

	free(bytes);
	/* An end without a word would be an answer that could not be written. */
	fuzz_check(result != K2I_SESSION_MORE || peer->session.state != K2I_SESSION_ENDED);
	fuzz_check(consumed <= byte_count);
	fuzz_check(peer->session.output_bytes <= sizeof(peer->session.output));
	/* Chunks of the group point to where the bytes were. */
	fuzz_check(world->committer.groups[0].entry_count == 0 && world->committer.groups[0].target_count == 0);
	fuzz_check(result != K2I_SESSION_MORE || peer->wanted <= k2i_session_input_max(&peer->session));
	peer->done += consumed;
	if (result == K2I_SESSION_STALL) {
		fuzz_check(peer->session.stall_error < 0);
		k2i_session_ack(&peer->session);
		peer->holds++;
	} else {
		peer->holds = 0;
	}
	if (!(world->control & BLOCKED) || peer->wanted == 0)
		answers_check(peer);
	if (result == K2I_SESSION_CLOSE || peer->session.state == K2I_SESSION_ENDED || peer->holds > 2)
		peer_close(peer);
}

static void fence_tell(struct world *world, struct peer *peers)
{
	for (unsigned index = 0; index < PEERS; index++) {
		struct peer *peer = &peers[index];

		if (!(world->control & CUT) || !peer->open || peer->session.owner.id != fenced_id)
			continue;
		k2i_session_fail(&peer->session, K2HFT_ERROR_FENCED, "this ring has connected again");
		peer_close(peer);
	}
	fenced_id = 0;
}

static bool peer_step(struct world *world, struct peer *peer, size_t step)
{
	if (step == 0)
		step = frames_length(peer->bytes + peer->given, peer->byte_count - peer->given);
	if (step == 0)
		step = SIZE_MAX;
	if (peer->given == peer->byte_count)
		return false;
	if (!peer->open && peer->sessions == SESSIONS_MAX)
		return false;
	if (!peer->open)
		peer_open(world, peer);
	peer->given = step < peer->byte_count - peer->given ? peer->given + step : peer->byte_count;
	if (peer->given - peer->done >= peer->wanted)
		input_give(world, peer);
	while (peer->open && peer->holds > 0)
		input_give(world, peer);
	return true;
}

static void peers_run(struct world *world, struct peer *peers, uint8_t speed)
{
	uint64_t random = speed | UINT64_C(0x100000000);
	bool more = true;

	for (unsigned steps = 0; more; steps++) {
		size_t step = speed & 15 ? 1 + (size_t)fuzz_random(&random) % (1u << (speed & 15)) : 0;

		if (speed & WORLD_AT_ONCE || (speed & 15 && steps > STEPS_MAX))
			step = SIZE_MAX;
		more = false;
		for (unsigned index = 0; index < (world->control & TWINS ? PEERS : 1); index++) {
			more |= peer_step(world, &peers[index], step);
			fence_tell(world, peers);
		}
		if (world->control & AGAIN && !peers[0].open && !peers[1].open) {
			world_close(world);
			world_open(world);
		}
	}
	for (unsigned index = 0; index < PEERS; index++) {
		if (peers[index].open)
			k2i_session_ping(&peers[index].session);
		if (peers[index].open)
			k2i_session_bye(&peers[index].session);
		peer_close(&peers[index]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct peer peers[PEERS];
	struct world world;
	uint8_t *bytes;

	if (size < FRAMES_CONTROL_BYTES)
		return 0;
	bytes = fuzz_copy(data + FRAMES_CONTROL_BYTES, size - FRAMES_CONTROL_BYTES);
	frames_mend(bytes, size - FRAMES_CONTROL_BYTES, data[0]);
	memset(peers, 0, sizeof(peers));
	for (unsigned index = 0; index < PEERS; index++) {
		peers[index].bytes = bytes;
		peers[index].byte_count = size - FRAMES_CONTROL_BYTES;
	}
	world_begin(&world, data);
	peers_run(&world, peers, data[1]);
	world_end(&world);
	free(bytes);
	return 0;
}
