/* SPDX-License-Identifier: MIT */
/*
 * The client's session, with a real ring behind it, fed with what a receiver sends over a socket. When a connection
 * ends, the rest of the input comes over the next one; time is made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/state.h"
#include "frames.h"
#include "ring/handle.h"

#define CONNECTIONS_MAX 12u
#define STEPS_MAX 200u
#define FIRST_CHUNKS 6u

/* Requests of the control byte, beside FRAMES_LEAVE; the first also makes room for more in the window. */
#define COMPRESS 4u
#define CLAIM 8u /* a producer has reserved, and does not commit */
#define EXPIRE 16u
#define SMALL 32u  /* frames of one record */
#define DAMAGE 64u /* the ring is written over between two steps */
#define SLOW 128u  /* the receiver does not read */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return frames_mutate(data, size, max_size, seed);
}

/* In place of libc's: to close a watch takes milliseconds, and a ring does without. */
int inotify_init1(int flags)
{
	(void)flags;
	errno = EMFILE;
	return -1;
}

struct world {
	unsigned control;
	struct k2hft_ring *ring;
	struct k2hft_producer *producer, *other;
	uint32_t stream_ids[2];
	struct k2hft_client *client;
	struct k2hft_client_options options;
	uint64_t now_ns, random, progress;
	int peer; /* the receiver's end; -1: none */
	unsigned connections;
	uint64_t end;             /* of what the client sent by this connection */
	uint64_t declared;        /* streams that it named, a bit each */
	uint8_t sent[512 * 1024]; /* by the client, and not looked at yet */
	size_t sent_bytes;
};

static void on_progress(void *argument, uint64_t acked)
{
	struct world *world = argument;

	fuzz_check(acked > world->progress);
	world->progress = acked;
}

static void push(struct world *world, unsigned number)
{
	static const char text[] = "0123456789 abcdefghijklmnopqrstuvwxyz 0123456789 abcdefghijklmnopqrstuvwxyz";
	struct k2hft_chunk chunk = {
		.stream_id = world->stream_ids[number % 2], .record_count = 1, .time_ns = number, .writer_pid = 7};

	(void)k2hft_producer_push(world->producer, &chunk, text, 1 + number * 13 % sizeof(text));
}

static void ring_open(struct world *world)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_stream streams[2] = {{.path = "a/b.log"},
					  {.path = "c.bin", .host = "other", .mode = K2HFT_STREAM_BINARY}};
	void *payload;

	fuzz_check(k2hft_ring_open(&options, &world->ring) == 0);
	for (unsigned index = 0; index < 2; index++)
		fuzz_check(k2hft_stream_declare(world->ring, &streams[index], &world->stream_ids[index]) == 0);
	fuzz_check(k2hft_producer_open(world->ring, &world->producer) == 0);
	fuzz_check(k2hft_producer_open(world->ring, &world->other) == 0);
	for (unsigned number = 0; number < FIRST_CHUNKS; number++)
		push(world, number);
	if (!(world->control & CLAIM))
		return;
	/* A discarded part behind another claim is a gap. */
	fuzz_check(k2hft_producer_reserve(world->other, 100, &payload) == 0);
	push(world, FIRST_CHUNKS);
	fuzz_check(k2hft_producer_discard(world->other) == 0);
	fuzz_check(k2hft_producer_reserve(world->other, 100, &payload) == 0);
	push(world, FIRST_CHUNKS);
}

static void client_open(struct world *world)
{
	world->options = (struct k2hft_client_options){
		.size = sizeof(world->options),
		.host = "127.0.0.1",
		.port = "9",
		.host_name = "here",
		.compress = world->control & COMPRESS ? K2HFT_COMPRESS_ALWAYS : K2HFT_COMPRESS_AUTO,
		.batch_records_max = world->control & SMALL ? 1 : 0,
		.expire_s = world->control & EXPIRE ? 3600 : 0,
		.progress = on_progress,
		.progress_argument = world,
	};
	fuzz_check(k2hft_client_open(world->ring, &world->options, &world->client) == 0);
	/* As if another process had sent all of it: the receiver can have some. */
	world->client->resume.opened_at = world->ring->header->tail;
}

/* The connection -------------------------------------------------------------------------------------------------- */

/* As if connect(2) had given it: one end has a name, or the client takes it for a connection with itself. */
static void connection_open(struct world *world)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int ends[2], bytes = 4096;

	fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	fuzz_check(bind(ends[0], (struct sockaddr *)&name, sizeof(name.sun_family)) == 0);
	if (world->control & SLOW)
		fuzz_check(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) == 0);
	world->peer = ends[1];
	world->end = world->declared = 0;
	world->sent_bytes = 0;
	world->connections++;
	world->client->dial.transport.descriptor = ends[0];
	world->client->state = K2HFT_CLIENT_CONNECTING;
	k2i_client_socket_event(world->client, EPOLLOUT, world->now_ns);
	fuzz_check(world->client->state == K2HFT_CLIENT_GREETING);
}

static void connection_close(struct world *world)
{
	if (world->peer >= 0)
		(void)close(world->peer);
	world->peer = -1;
}

/* A receiver that keeps to the protocol has no reason to refuse what comes. */
static void frame_check(struct world *world, const struct k2hft_frame *frame, const uint8_t *body)
{
	struct k2hft_stream_message stream;
	struct k2hft_discard discard;
	struct k2hft_chunk_view view;
	size_t offset = 0;

	if (frame->type == K2HFT_FRAME_STREAM) {
		fuzz_check(k2hft_stream_decode(body, frame->body_bytes, &stream) == 0 && stream.stream_id < 64);
		world->declared |= UINT64_C(1) << stream.stream_id;
	} else if (frame->type == K2HFT_FRAME_DISCARD) {
		fuzz_check(k2hft_discard_decode(body, frame->body_bytes, &discard) == 0);
		fuzz_check(world->end == 0 || discard.from == world->end);
		world->end = discard.to;
	} else if (frame->type == K2HFT_FRAME_DATA) {
		fuzz_check(world->end == 0 || frame->position - frame->gap_bytes == world->end);
		world->end = frame->position + frame->raw_bytes;
		while (!(frame->flags & K2HFT_FRAME_LZ4) &&
		       k2hft_chunk_next(body, frame->body_bytes, frame->position, &offset, &view) > 0)
			fuzz_check(view.chunk.stream_id < 64 && world->declared >> view.chunk.stream_id & 1);
		fuzz_check(frame->flags & K2HFT_FRAME_LZ4 || offset == frame->body_bytes);
	}
}

/* The client sends whole frames that the format allows. In a ring that others write to, it need not be. */
static void sent_check(struct world *world)
{
	size_t at = 0, length;
	struct k2hft_frame frame;

	while (world->sent_bytes > at) {
		const uint8_t *bytes = world->sent + at;
		int error =
			k2hft_frame_header_decode(bytes, world->sent_bytes - at, K2HFT_FRAME_BODY_BYTES_MAX, &frame);

		if (error == -EAGAIN)
			break;
		fuzz_check(error == 0);
		length = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
		if (length > world->sent_bytes - at)
			break;
		fuzz_check(world->control & DAMAGE ||
			   k2hft_frame_verify(bytes, &frame, bytes + K2HFT_FRAME_HEADER_BYTES) == 0);
		fuzz_check(frame.type != K2HFT_FRAME_DATA ||
			   frame.position + frame.raw_bytes <= world->client->positions.window_end);
		if (!(world->control & DAMAGE))
			frame_check(world, &frame, bytes + K2HFT_FRAME_HEADER_BYTES);
		at += length;
	}
	memmove(world->sent, world->sent + at, world->sent_bytes - at);
	world->sent_bytes -= at;
}

static void sent_take(struct world *world)
{
	ssize_t count;

	do {
		count = recv(world->peer, world->sent + world->sent_bytes, sizeof(world->sent) - world->sent_bytes, 0);
		if (count > 0)
			world->sent_bytes += (size_t)count;
	} while (count > 0 && world->sent_bytes < sizeof(world->sent));
	sent_check(world);
}

static void client_step(struct world *world, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = world->client->dial.transport.descriptor};
	uint64_t acked = world->client->positions.acked;
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	world->now_ns += 1 + fuzz_random(&world->random) % 2000000;
	int status = k2i_client_step(world->client, &event, events ? 1 : 0, world->now_ns);
	fuzz_check(status == 0 || world->control & DAMAGE);
	fuzz_check(world->client->positions.acked >= acked);
	fuzz_check(k2hft_ring_stats(world->ring, &stats) == 0);
	fuzz_check(world->client->positions.acked <= stats.tail || world->control & DAMAGE);
	if (!(world->control & SLOW) && world->peer >= 0)
		sent_take(world);
}

static void damage(struct world *world)
{
	uint64_t where = fuzz_random(&world->random), what = fuzz_random(&world->random);

	memcpy(world->ring->data + where % 512 / 8 * 8, &what, 1 + where / 512 % 8);
}

/* A write of the receiver; then the client is asked until it has nothing to do. */
static size_t bytes_give(struct world *world, const uint8_t *bytes, size_t byte_count)
{
	ssize_t count = send(world->peer, bytes, byte_count, MSG_NOSIGNAL);

	push(world, (unsigned)(fuzz_random(&world->random) % 32));
	if (world->control & DAMAGE)
		damage(world);
	for (unsigned rounds = 0; rounds < 3 && world->client->state != K2HFT_CLIENT_WAITING; rounds++)
		client_step(world, rounds ? 0 : EPOLLIN);
	return count > 0 ? (size_t)count : byte_count;
}

static void receiver_run(struct world *world, const uint8_t *bytes, size_t byte_count, uint8_t speed)
{
	for (unsigned steps = 0; byte_count > 0 && !world->client->broken; steps++) {
		size_t step = frames_length(bytes, byte_count);

		if (world->peer < 0 && world->connections == CONNECTIONS_MAX)
			return;
		if (world->peer < 0) {
			connection_open(world);
			client_step(world, 0);
		}
		if (speed && steps < STEPS_MAX)
			step = 1 + (size_t)fuzz_random(&world->random) % (1u << (speed & 15));
		if (step == 0 || step > byte_count)
			step = byte_count;
		step = bytes_give(world, bytes, step);
		bytes += step;
		byte_count -= step;
		if (world->client->state == K2HFT_CLIENT_WAITING)
			connection_close(world);
	}
}

/* Time goes by without a byte from the receiver. */
static void silence(struct world *world)
{
	for (unsigned seconds = 0; seconds < 40 && world->peer >= 0 && !world->client->broken; seconds++) {
		world->now_ns += 1000000000;
		client_step(world, 0);
		if (world->client->state == K2HFT_CLIENT_WAITING)
			connection_close(world);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	uint8_t *bytes;

	if (size < FRAMES_CONTROL_BYTES)
		return 0;
	fuzz_log_open();
	memset(&world, 0, offsetof(struct world, sent));
	world.sent_bytes = 0;
	world.control = data[0];
	world.now_ns = UINT64_C(1000000000000);
	world.random = data[1] | UINT64_C(0x100000000);
	world.peer = -1;
	bytes = fuzz_copy(data + FRAMES_CONTROL_BYTES, size - FRAMES_CONTROL_BYTES);
	frames_mend(bytes, size - FRAMES_CONTROL_BYTES, data[0]);
	ring_open(&world);
	client_open(&world);
	receiver_run(&world, bytes, size - FRAMES_CONTROL_BYTES, data[1]);
	silence(&world);
	k2hft_client_close(world.client);
	connection_close(&world);
	k2hft_producer_close(world.other);
	k2hft_producer_close(world.producer);
	k2hft_ring_close(world.ring);
	free(bytes);
	return 0;
}
