/* SPDX-License-Identifier: MIT */
/* The frame codec: what decodes encodes to the same bytes, and nothing is read or written outside of its memory. */
#include "frames.h"

#define FRAME_BYTES_MAX (1024u * 1024)
#define ROOM (K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX)

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return frames_mutate(data, size, max_size, seed);
}

static int message_again(uint8_t type, const uint8_t *body, size_t body_bytes, uint8_t *frame)
{
	union {
		struct k2hft_hello hello;
		struct k2hft_welcome welcome;
		struct k2hft_stream_message stream;
		struct k2hft_ack ack;
		struct k2hft_discard discard;
		struct k2hft_ping ping;
		struct k2hft_error_message error;
	} message;

	memset(&message, 0xa5, sizeof(message));
	switch (type) {
	case K2HFT_FRAME_HELLO:
		return k2hft_hello_decode(body, body_bytes, &message.hello)
			       ? 0
			       : k2hft_hello_encode(&message.hello, frame, ROOM);
	case K2HFT_FRAME_WELCOME:
		return k2hft_welcome_decode(body, body_bytes, &message.welcome)
			       ? 0
			       : k2hft_welcome_encode(&message.welcome, frame, ROOM);
	case K2HFT_FRAME_STREAM:
		return k2hft_stream_decode(body, body_bytes, &message.stream)
			       ? 0
			       : k2hft_stream_encode(&message.stream, frame, ROOM);
	case K2HFT_FRAME_ACK:
		return k2hft_ack_decode(body, body_bytes, &message.ack) ? 0
									: k2hft_ack_encode(&message.ack, frame, ROOM);
	case K2HFT_FRAME_DISCARD:
		return k2hft_discard_decode(body, body_bytes, &message.discard)
			       ? 0
			       : k2hft_discard_encode(&message.discard, frame, ROOM);
	case K2HFT_FRAME_PING:
	case K2HFT_FRAME_PONG:
		return k2hft_ping_decode(body, body_bytes, &message.ping)
			       ? 0
			       : k2hft_ping_encode(type, &message.ping, frame, ROOM);
	case K2HFT_FRAME_ERROR:
		return k2hft_error_decode(body, body_bytes, &message.error)
			       ? 0
			       : k2hft_error_encode(&message.error, frame, ROOM);
	default:
		return 0;
	}
}

/* A message that a decoder takes, its encoder gives back; only HELLO and ERROR may have more behind. */
static void message_run(uint8_t type, const uint8_t *body, size_t body_bytes)
{
	bool may_go_on = type == K2HFT_FRAME_HELLO || type == K2HFT_FRAME_ERROR;
	uint8_t frame[ROOM];
	int length = message_again(type, body, body_bytes, frame);

	fuzz_check(length >= 0);
	if (length == 0)
		return;
	size_t again_bytes = (size_t)length - K2HFT_FRAME_HEADER_BYTES;
	fuzz_check(may_go_on ? again_bytes <= body_bytes : again_bytes == body_bytes);
	fuzz_check(memcmp(frame + K2HFT_FRAME_HEADER_BYTES, body, again_bytes) == 0);
}

static void chunks_run(const uint8_t *raw, size_t raw_bytes, uint64_t position)
{
	struct k2hft_chunk_view view;
	size_t offset = 0, before = 0;
	uint64_t sum = 0;
	int result;

	while ((result = k2hft_chunk_next(raw, raw_bytes, position, &offset, &view)) > 0) {
		fuzz_check(offset > before && offset <= raw_bytes);
		fuzz_check(view.position == position + before && view.end == position + offset);
		fuzz_check(view.payload >= raw + before && view.payload + view.payload_bytes <= raw + offset);
		fuzz_check(view.payload_bytes > 0 && view.chunk.record_count <= view.payload_bytes);
		for (size_t at = 0; at < view.payload_bytes; at++)
			sum += view.payload[at];
		before = offset;
	}
	fuzz_check(offset == before);
	fuzz_check(result < 0 || offset == raw_bytes);
	(void)sum;
}

/* Compressed bytes come out as they went in. */
static void compress_run(const uint8_t *raw, size_t raw_bytes)
{
	size_t room = k2hft_frame_compress_bound(raw_bytes);
	uint8_t *body = malloc(room), *again = malloc(raw_bytes);
	int body_bytes;

	fuzz_check(body && again);
	body_bytes = k2hft_frame_compress(raw, raw_bytes, body, room);
	fuzz_check(body_bytes >= 0 && (size_t)body_bytes < raw_bytes);
	if (body_bytes > 0) {
		fuzz_check(k2hft_frame_decompress(body, (size_t)body_bytes, again, raw_bytes) == 0);
		fuzz_check(memcmp(raw, again, raw_bytes) == 0);
	}
	free(body);
	free(again);
}

static void data_run(const struct k2hft_frame *frame, const uint8_t *body)
{
	uint8_t *raw;

	if (!(frame->flags & K2HFT_FRAME_LZ4)) {
		chunks_run(body, frame->raw_bytes, frame->position);
		compress_run(body, frame->raw_bytes);
		return;
	}
	raw = malloc(frame->raw_bytes);
	fuzz_check(raw);
	if (k2hft_frame_decompress(body, frame->body_bytes, raw, frame->raw_bytes) == 0)
		chunks_run(raw, frame->raw_bytes, frame->position);
	free(raw);
}

/* The frame at `bytes`: its length, 0 if it is refused or not complete. */
static size_t frame_run(const uint8_t *bytes, size_t byte_count)
{
	struct k2hft_frame frame, again;
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], *body;
	size_t length;

	if (k2hft_frame_header_decode(bytes, byte_count, FRAME_BYTES_MAX, &frame) < 0)
		return 0;
	length = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
	if (byte_count < length)
		return 0;
	body = fuzz_copy(bytes + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes);
	if (k2hft_frame_verify(bytes, &frame, body) == 0) {
		again = frame;
		fuzz_check(k2hft_frame_header_encode(&again, body, header) == 0);
		fuzz_check(memcmp(header, bytes, sizeof(header)) == 0);
		message_run(frame.type, body, frame.body_bytes);
		if (frame.type == K2HFT_FRAME_DATA)
			data_run(&frame, body);
	}
	free(body);
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;
	size_t at = 0, length;

	if (size < FRAMES_CONTROL_BYTES)
		return 0;
	bytes = fuzz_copy(data + FRAMES_CONTROL_BYTES, size - FRAMES_CONTROL_BYTES);
	size -= FRAMES_CONTROL_BYTES;
	frames_mend(bytes, size, data[0]);
	while ((length = frame_run(bytes + at, size - at)) != 0)
		at += length;
	/* As if it were a body. */
	for (unsigned type = 0; type <= K2HFT_FRAME_ERROR + 1 && at == 0; type++)
		message_run((uint8_t)type, bytes, size);
	chunks_run(bytes, size & ~(size_t)7, 0);
	(void)k2hft_stream_path_check((const char *)bytes, size);
	free(bytes);
	return 0;
}
