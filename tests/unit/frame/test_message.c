/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <k2hft/frame.h>

#include "unit.h"
#include "random_help.h"

#define ROOM (K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX)
#define MUTATIONS 20000u

static uint8_t frame_bytes[ROOM];
#define BODY (frame_bytes + K2HFT_FRAME_HEADER_BYTES)

static struct k2hft_hello hello_sample(void)
{
	struct k2hft_hello hello = {.version_min = 1,
				    .version_max = 2,
				    .epoch = 1,
				    .acked = 64,
				    .frame_bytes_max = 1 << 20,
				    .level = K2HFT_LEVEL_WRITTEN,
				    .host = "h",
				    .software = "s"};

	hello.ring_uuid[15] = 1;
	return hello;
}

static struct k2hft_welcome welcome_sample(void)
{
	struct k2hft_welcome welcome = {.version = 1,
					.position = 64,
					.window_end = 1 << 20,
					.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MIN,
					.level = K2HFT_LEVEL_RECEIVED,
					.software = "s"};

	welcome.receiver_uuid[0] = 1;
	return welcome;
}

static struct k2hft_stream_message stream_sample(void)
{
	struct k2hft_stream_message stream = {.stream_id = 1, .mode = K2HFT_STREAM_TEXT, .path = "a/b", .host = "h"};

	return stream;
}

static struct k2hft_ack ack_sample(void)
{
	struct k2hft_ack ack = {.position = 64, .window_end = 128, .level = K2HFT_LEVEL_SYNCED};

	return ack;
}

static struct k2hft_discard discard_sample(void)
{
	struct k2hft_discard discard = {.from = 64, .to = 128, .reason = K2HFT_DISCARD_FULL};

	return discard;
}

static int hello_encode(struct k2hft_hello hello)
{
	return k2hft_hello_encode(&hello, frame_bytes, ROOM);
}

TEST(hello_is_checked)
{
	struct k2hft_hello hello = hello_sample(), back;
	int bytes = hello_encode(hello);

	assert_true(bytes > 0);
	assert_int_equal(k2hft_hello_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), 0);
	assert_int_equal(back.version_max, 2);
	hello.version_min = 3;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.version_min = 0;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.ring_uuid[15] = 0;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.acked = 65;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.level = K2HFT_LEVEL_SYNCED + 1;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.level = 0;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	hello.frame_bytes_max = 0;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello = hello_sample();
	(void)snprintf(hello.host, sizeof(hello.host), "%s", "a\nb");
	assert_int_equal(hello_encode(hello), -EINVAL);
	memset(hello.host, 'h', sizeof(hello.host));
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello.host[sizeof(hello.host) - 1] = '\0';
	assert_true(hello_encode(hello) > 0);
}

TEST(unsettled_are_checked)
{
	struct k2hft_hello hello = hello_sample(), back;
	int bytes = 0;

	for (uint8_t count = 0; count < K2HFT_UNSETTLED_MAX; count++) {
		hello.unsettled[count] = (struct k2hft_unsettled){{(uint8_t)(count + 1)}, 8u * count};
		hello.unsettled_count = (uint8_t)(count + 1);
		bytes = hello_encode(hello);
		assert_true(bytes > 0);
	}
	assert_int_equal(k2hft_hello_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), 0);
	assert_int_equal(back.unsettled_count, K2HFT_UNSETTLED_MAX);
	assert_memory_equal(back.unsettled, hello.unsettled, sizeof(back.unsettled));
	assert_string_equal(back.software, "s");
	BODY[80]++;
	assert_int_equal(k2hft_hello_decode(BODY, ROOM - K2HFT_FRAME_HEADER_BYTES, &back), -EBADMSG);
	hello.unsettled_count++;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello.unsettled_count--;
	hello.unsettled[7].position = 4;
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello.unsettled[7] = (struct k2hft_unsettled){.position = 8};
	assert_int_equal(hello_encode(hello), -EINVAL);
	hello.unsettled[7].receiver_uuid[0] = 1; /* twice */
	assert_int_equal(hello_encode(hello), -EINVAL);
}

static int welcome_encode(struct k2hft_welcome welcome)
{
	return k2hft_welcome_encode(&welcome, frame_bytes, ROOM);
}

TEST(welcome_is_checked)
{
	struct k2hft_welcome welcome = welcome_sample();

	assert_true(welcome_encode(welcome) > 0);
	welcome.version = 0;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.window_end = 63;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.level = 0;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.flags = 4;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MIN - 1;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MAX + 1;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.receiver_uuid[0] = 0;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
	welcome = welcome_sample();
	welcome.position = 4;
	assert_int_equal(welcome_encode(welcome), -EINVAL);
}

TEST(stream_is_checked)
{
	struct k2hft_stream_message stream = stream_sample(), back;
	int bytes;

	stream.mode = 2;
	assert_int_equal(k2hft_stream_encode(&stream, frame_bytes, ROOM), -EINVAL);
	stream = stream_sample();
	(void)snprintf(stream.path, sizeof(stream.path), "%s", "../x");
	assert_int_equal(k2hft_stream_encode(&stream, frame_bytes, ROOM), -EINVAL);
	(void)snprintf(stream.path, sizeof(stream.path), "%s", "");
	assert_int_equal(k2hft_stream_encode(&stream, frame_bytes, ROOM), -EINVAL);
	stream = stream_sample();
	(void)snprintf(stream.host, sizeof(stream.host), "%s", "a\177b");
	assert_int_equal(k2hft_stream_encode(&stream, frame_bytes, ROOM), -EINVAL);
	/* The longest of all fits. */
	stream = stream_sample();
	memset(stream.path, 'p', K2HFT_STREAM_PATH_BYTES_MAX);
	for (size_t i = 200; i < K2HFT_STREAM_PATH_BYTES_MAX; i += 200)
		stream.path[i] = '/';
	memset(stream.host, 'h', K2HFT_STREAM_HOST_BYTES_MAX);
	bytes = k2hft_stream_encode(&stream, frame_bytes, ROOM);
	assert_true(bytes > 0);
	assert_int_equal(k2hft_stream_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), 0);
	assert_string_equal(back.path, stream.path);
	assert_string_equal(back.host, stream.host);
	/* A NUL in the path, which would cut it. */
	stream = stream_sample();
	bytes = k2hft_stream_encode(&stream, frame_bytes, ROOM);
	BODY[4 + 4 + 2 + 1] = '\0';
	assert_int_equal(k2hft_stream_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), -EBADMSG);
}

TEST(numbers_are_checked)
{
	struct k2hft_ack ack = ack_sample();
	struct k2hft_discard discard = discard_sample();
	struct k2hft_ping ping = {.token = 9};

	assert_int_equal(k2hft_ack_encode(&ack, frame_bytes, ROOM), K2HFT_FRAME_HEADER_BYTES + 24);
	ack.window_end = 56;
	assert_int_equal(k2hft_ack_encode(&ack, frame_bytes, ROOM), -EINVAL);
	ack = ack_sample();
	ack.level = 0;
	assert_int_equal(k2hft_ack_encode(&ack, frame_bytes, ROOM), -EINVAL);
	ack = ack_sample();
	ack.status = 4;
	assert_int_equal(k2hft_ack_encode(&ack, frame_bytes, ROOM), -EINVAL);
	assert_int_equal(k2hft_discard_encode(&discard, frame_bytes, ROOM), K2HFT_FRAME_HEADER_BYTES + 32);
	discard.to = discard.from;
	assert_int_equal(k2hft_discard_encode(&discard, frame_bytes, ROOM), -EINVAL);
	discard = discard_sample();
	discard.reason = 0;
	assert_int_equal(k2hft_discard_encode(&discard, frame_bytes, ROOM), -EINVAL);
	assert_true(k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, frame_bytes, ROOM) > 0);
	assert_int_equal(k2hft_ping_encode(K2HFT_FRAME_BYE, &ping, frame_bytes, ROOM), -EINVAL);
	assert_int_equal(k2hft_ping_encode(K2HFT_FRAME_ACK, &ping, frame_bytes, ROOM), -EINVAL);
	for (ping.token = 0; ping.token <= 8; ping.token += 8)
		assert_true(k2hft_ping_encode(K2HFT_FRAME_BYE, &ping, frame_bytes, ROOM) > 0);
}

TEST(error_always_gets_out)
{
	struct k2hft_error_message error = {.code = K2HFT_ERROR_REFUSED, .text = "a\r\nb"}, back;
	int bytes = k2hft_error_encode(&error, frame_bytes, ROOM);

	assert_true(bytes > 0);
	assert_int_equal(k2hft_error_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), 0);
	assert_string_equal(back.text, "a??b");
	assert_int_equal(back.code, K2HFT_ERROR_REFUSED);
	BODY[4] = '\n';
	assert_int_equal(k2hft_error_decode(BODY, (size_t)bytes - K2HFT_FRAME_HEADER_BYTES, &back), -EBADMSG);
	error.code = 0;
	assert_int_equal(k2hft_error_encode(&error, frame_bytes, ROOM), -EINVAL);
}

/* A type of message, for the tests that hold for all of them. */
union message {
	struct k2hft_hello hello;
	struct k2hft_welcome welcome;
	struct k2hft_stream_message stream;
	struct k2hft_ack ack;
	struct k2hft_discard discard;
	struct k2hft_ping ping;
	struct k2hft_error_message error;
};

static int encode_any(uint8_t type, uint8_t *bytes, size_t room)
{
	union message message;

	switch (type) {
	case K2HFT_FRAME_HELLO:
		message.hello = hello_sample();
		return k2hft_hello_encode(&message.hello, bytes, room);
	case K2HFT_FRAME_WELCOME:
		message.welcome = welcome_sample();
		return k2hft_welcome_encode(&message.welcome, bytes, room);
	case K2HFT_FRAME_STREAM:
		message.stream = stream_sample();
		return k2hft_stream_encode(&message.stream, bytes, room);
	case K2HFT_FRAME_ACK:
		message.ack = ack_sample();
		return k2hft_ack_encode(&message.ack, bytes, room);
	case K2HFT_FRAME_DISCARD:
		message.discard = discard_sample();
		return k2hft_discard_encode(&message.discard, bytes, room);
	case K2HFT_FRAME_ERROR:
		memset(&message, 0, sizeof(message));
		message.error.code = 1;
		(void)snprintf(message.error.text, sizeof(message.error.text), "%s", "text");
		return k2hft_error_encode(&message.error, bytes, room);
	default:
		message.ping.token = 0;
		return k2hft_ping_encode(type, &message.ping, bytes, room);
	}
}

static int decode_any(uint8_t type, const uint8_t *body, size_t bytes)
{
	union message message;

	switch (type) {
	case K2HFT_FRAME_HELLO:
		return k2hft_hello_decode(body, bytes, &message.hello);
	case K2HFT_FRAME_WELCOME:
		return k2hft_welcome_decode(body, bytes, &message.welcome);
	case K2HFT_FRAME_STREAM:
		return k2hft_stream_decode(body, bytes, &message.stream);
	case K2HFT_FRAME_ACK:
		return k2hft_ack_decode(body, bytes, &message.ack);
	case K2HFT_FRAME_DISCARD:
		return k2hft_discard_decode(body, bytes, &message.discard);
	case K2HFT_FRAME_ERROR:
		return k2hft_error_decode(body, bytes, &message.error);
	default:
		return k2hft_ping_decode(body, bytes, &message.ping);
	}
}

static const uint8_t types[] = {K2HFT_FRAME_HELLO, K2HFT_FRAME_WELCOME, K2HFT_FRAME_STREAM,
				K2HFT_FRAME_ACK,   K2HFT_FRAME_PING,    K2HFT_FRAME_PONG,
				K2HFT_FRAME_BYE,   K2HFT_FRAME_DISCARD, K2HFT_FRAME_ERROR};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

TEST(every_message_knows_its_room)
{
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		int bytes = encode_any(types[i], frame_bytes, ROOM);

		assert_true(bytes > 0);
		assert_int_equal(encode_any(types[i], frame_bytes, (size_t)bytes), bytes);
		for (size_t room = 0; room < (size_t)bytes; room++)
			assert_int_equal(encode_any(types[i], frame_bytes, room), -ENOBUFS);
	}
}

TEST(every_message_is_as_long_as_it_says)
{
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		size_t bytes = (size_t)encode_any(types[i], frame_bytes, ROOM) - K2HFT_FRAME_HEADER_BYTES;
		bool open_ended = types[i] == K2HFT_FRAME_HELLO || types[i] == K2HFT_FRAME_ERROR;

		assert_int_equal(decode_any(types[i], BODY, bytes), 0);
		for (size_t less = 0; less < bytes; less++)
			assert_int_equal(decode_any(types[i], BODY, less), -EBADMSG);
		BODY[bytes] = 7;
		assert_int_equal(decode_any(types[i], BODY, bytes + 1), open_ended ? 0 : -EBADMSG);
	}
}

TEST(reserved_bytes_are_zero)
{
	static const struct {
		uint8_t type;
		size_t at;
	} places[] = {{K2HFT_FRAME_HELLO, 14},  {K2HFT_FRAME_HELLO, 15}, {K2HFT_FRAME_WELCOME, 44},
		      {K2HFT_FRAME_ACK, 18},    {K2HFT_FRAME_ACK, 23},   {K2HFT_FRAME_DISCARD, 25},
		      {K2HFT_FRAME_DISCARD, 31}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t bytes = (size_t)encode_any(places[i].type, frame_bytes, ROOM) - K2HFT_FRAME_HEADER_BYTES;

		assert_int_equal(BODY[places[i].at], 0);
		BODY[places[i].at] = 1;
		assert_int_equal(decode_any(places[i].type, BODY, bytes), -EBADMSG);
	}
}

/* By whoever reads it, too: a peer need not be one that checks what it writes. */
TEST(every_field_is_checked)
{
	static const struct {
		uint8_t type, at, value;
	} bytes_bad[] = {
		{K2HFT_FRAME_HELLO, 0, 0},     {K2HFT_FRAME_HELLO, 2, 0},     {K2HFT_FRAME_HELLO, 12, 0},
		{K2HFT_FRAME_HELLO, 12, 4},    {K2HFT_FRAME_HELLO, 13, 4},    {K2HFT_FRAME_HELLO, 31, 0},
		{K2HFT_FRAME_HELLO, 56, 65},   {K2HFT_FRAME_HELLO, 66, 0},    {K2HFT_FRAME_HELLO, 67, 1},
		{K2HFT_FRAME_HELLO, 80, 9},    {K2HFT_FRAME_HELLO, 83, '\n'}, {K2HFT_FRAME_HELLO, 86, '\n'},
		{K2HFT_FRAME_WELCOME, 0, 0},   {K2HFT_FRAME_WELCOME, 2, 0},   {K2HFT_FRAME_WELCOME, 3, 4},
		{K2HFT_FRAME_WELCOME, 8, 0},   {K2HFT_FRAME_WELCOME, 24, 65}, {K2HFT_FRAME_WELCOME, 34, 0},
		{K2HFT_FRAME_WELCOME, 42, 31}, {K2HFT_FRAME_WELCOME, 43, 1},  {K2HFT_FRAME_WELCOME, 66, 127},
		{K2HFT_FRAME_STREAM, 4, 2},    {K2HFT_FRAME_STREAM, 10, '/'}, {K2HFT_FRAME_STREAM, 15, 31},
		{K2HFT_FRAME_ACK, 0, 65},      {K2HFT_FRAME_ACK, 8, 56},      {K2HFT_FRAME_ACK, 16, 0},
		{K2HFT_FRAME_ACK, 16, 4},      {K2HFT_FRAME_ACK, 17, 4},      {K2HFT_FRAME_DISCARD, 0, 65},
		{K2HFT_FRAME_DISCARD, 8, 129}, {K2HFT_FRAME_DISCARD, 8, 64},  {K2HFT_FRAME_DISCARD, 24, 0},
		{K2HFT_FRAME_DISCARD, 24, 4},  {K2HFT_FRAME_ERROR, 0, 0},
	};

	for (size_t i = 0; i < sizeof(bytes_bad) / sizeof(bytes_bad[0]); i++) {
		uint8_t type = bytes_bad[i].type;
		size_t bytes = (size_t)encode_any(type, frame_bytes, ROOM) - K2HFT_FRAME_HEADER_BYTES;

		assert_int_equal(decode_any(type, BODY, bytes), 0);
		BODY[bytes_bad[i].at] = bytes_bad[i].value;
		assert_int_equal(decode_any(type, BODY, bytes), -EBADMSG);
	}
}

TEST(no_text_is_longer_than_its_field)
{
	const size_t host_at = 81, most = K2HFT_STREAM_HOST_BYTES_MAX;
	struct k2hft_hello back;

	assert_true(encode_any(K2HFT_FRAME_HELLO, frame_bytes, ROOM) > 0);
	memset(BODY + host_at, 0, ROOM - K2HFT_FRAME_HEADER_BYTES - host_at);
	memset(BODY + host_at + 2, 'h', most);
	BODY[host_at] = (uint8_t)most;
	assert_int_equal(k2hft_hello_decode(BODY, host_at + 2 + most + 2, &back), 0);
	assert_int_equal(strlen(back.host), most);
	BODY[host_at] = 0;
	BODY[host_at + 1] = 1; /* one more */
	BODY[host_at + 2 + most] = 'h';
	assert_int_equal(k2hft_hello_decode(BODY, host_at + 2 + most + 1 + 2, &back), -EBADMSG);
}

TEST(damaged_messages_are_safe)
{
	uint64_t seed = 4;

	for (size_t i = 0; i < TYPE_COUNT; i++) {
		size_t bytes = (size_t)encode_any(types[i], frame_bytes, ROOM) - K2HFT_FRAME_HEADER_BYTES;
		uint8_t *damaged = malloc(bytes);

		for (unsigned round = 0; round < MUTATIONS; round++) {
			int result;

			memcpy(damaged, BODY, bytes);
			for (uint64_t changes = 1 + random_next(&seed) % 4; changes; changes--)
				damaged[random_next(&seed) % bytes] = (uint8_t)(random_next(&seed) >> 16);
			result = decode_any(types[i], damaged, bytes - random_next(&seed) % 2);
			assert_true(result == 0 || result == -EBADMSG);
		}
		free(damaged);
	}
}
