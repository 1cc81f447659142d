/* SPDX-License-Identifier: MIT */
/*
 * A sender that does what its script (standard input, one command a line) says, right or wrong. It knows nothing of
 * rings: positions start where WELCOME or the script puts them.
 *
 *	connect PORT			to 127.0.0.1
 *	hello RING EPOCH ACKED [LEVEL]	RING: up to 16 characters that become the uuid
 *	receiver HEX			the uuid that the next two are about; else that of the last WELCOME
 *	last, unsettled N		HELLO says that it acknowledged last, or that it is unsettled from position N on
 *	opening N			of HELLO
 *	welcome				waits for it, prints it, goes on at its position
 *	stream ID text|binary PATH [HOST]
 *	path ID HEX			the same of text, with a path of any bytes
 *	pid N				of the chunks that follow
 *	chunk ID FLAGS TEXT		adds one to the frame; \n \r \0 \\ in TEXT, the rest of the line
 *	blob ID BYTES SEED		the same with pseudo-random bytes in lines
 *	flush				sends the frame
 *	file ID PATH			all of a file in frames of 1 MiB, as the window allows
 *	position N, gap N, lz4 0|1, frame BYTES
 *	damage AT			flips a bit of the next frame's byte AT
 *	raw HEX				bytes as they are
 *	discard FROM TO COUNT, ping, close
 *	bye [POSITION]			POSITION: the ring never comes again
 *	ack				waits until everything is acknowledged, prints it
 *	status N			waits for an ACK with that status
 *	error, closed			waits for that, prints it
 *
 * wire_send --resume PORT RING STREAM FILE PAUSE sends FILE, connecting again whenever the connection breaks and going on
 * where WELCOME says, until all of it is acknowledged; it rests PAUSE ms behind each frame. A chunk's place in the file
 * follows from its position.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "base/bits.h"
#include "frame/wire.h"
#include "base/byte_order.h"

#define WAIT_MS 30000
#define BODY_ROOM (K2HFT_FRAME_BODY_BYTES_MAX + K2HFT_CHUNK_BYTES_MAX)

static int peer = -1;
static uint8_t body[BODY_ROOM], packed[BODY_ROOM + 65536], input[65536];
static size_t body_bytes, input_bytes;
static size_t frame_bytes = 1024 * 1024;
static uint64_t position, acked, window_end;
static uint32_t gap_bytes, writer_pid = 1;
static unsigned ack_status;
static long damage_at = -1;
static bool lz4, receiver_last;
static uint8_t receiver_uuid[16];
static uint64_t opening, unsettled_position = UINT64_MAX;

static _Noreturn void fail(const char *what, const char *detail)
{
	(void)fprintf(stderr, "wire_send: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	exit(1);
}

static void send_all(const void *bytes, size_t byte_count)
{
	const uint8_t *next = bytes;
	ssize_t sent;

	while (byte_count > 0) {
		sent = send(peer, next, byte_count, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		/* A receiver that refuses closes before everything is there. Its answer is waited for. */
		if (sent <= 0)
			return;
		next += sent;
		byte_count -= (size_t)sent;
	}
}

static void send_message(int frame_length, uint8_t *bytes)
{
	if (frame_length < 0)
		fail("the message can't be encoded", strerror(-frame_length));
	if (damage_at >= 0) {
		bytes[damage_at % frame_length] ^= 4;
		damage_at = -1;
	}
	send_all(bytes, (size_t)frame_length);
}

/* A frame's whole bytes, or 0: the peer has closed. */
static size_t receive_frame(struct k2hft_frame *frame)
{
	struct pollfd poll_entry = {.fd = peer, .events = POLLIN};
	ssize_t got;

	for (;;) {
		if (k2hft_frame_header_decode(input, input_bytes, K2HFT_MESSAGE_BYTES_MAX, frame) == 0 &&
		    input_bytes >= K2HFT_FRAME_HEADER_BYTES + frame->body_bytes) {
			if (k2hft_frame_verify(input, frame, input + K2HFT_FRAME_HEADER_BYTES))
				fail("the receiver sent a wrong checksum", NULL);
			return K2HFT_FRAME_HEADER_BYTES + frame->body_bytes;
		}
		if (poll(&poll_entry, 1, WAIT_MS) <= 0)
			fail("nothing came", NULL);
		got = recv(peer, input + input_bytes, sizeof(input) - input_bytes, 0);
		if (got <= 0)
			return 0;
		input_bytes += (size_t)got;
	}
}

static void print_error(const uint8_t *bytes, size_t byte_count)
{
	struct k2hft_error_message error;

	if (k2hft_error_decode(bytes, byte_count, &error))
		fail("ERROR is malformed", NULL);
	(void)printf("error %u %s\n", error.code, error.text);
}

static void take_welcome(const uint8_t *bytes, size_t byte_count)
{
	struct k2hft_welcome welcome;

	if (k2hft_welcome_decode(bytes, byte_count, &welcome))
		fail("WELCOME is malformed", NULL);
	position = acked = welcome.position;
	window_end = welcome.window_end;
	memcpy(receiver_uuid, welcome.receiver_uuid, sizeof(receiver_uuid));
	(void)printf("welcome position %" PRIu64 " %s level %u frame %u", welcome.position,
		     welcome.flags & K2HFT_WELCOME_KNOWN ? "known" : "new", welcome.level, welcome.frame_bytes_max);
	if (welcome.cut_records || welcome.retracted_records)
		(void)printf(" cut %" PRIu64 " retracted %" PRIu64, welcome.cut_records, welcome.retracted_records);
	(void)printf("\n");
}

static void take_ack(const uint8_t *bytes, size_t byte_count)
{
	struct k2hft_ack ack;

	if (k2hft_ack_decode(bytes, byte_count, &ack))
		fail("ACK is malformed", NULL);
	if (ack.position < acked || ack.window_end < window_end)
		fail("an ACK goes back", NULL);
	acked = ack.position;
	window_end = ack.window_end;
	ack_status = ack.status;
}

static void answer_ping(const uint8_t *bytes, size_t byte_count)
{
	uint8_t frame[256];
	struct k2hft_ping ping;

	if (k2hft_ping_decode(bytes, byte_count, &ping))
		fail("PING is malformed", NULL);
	send_message(k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, frame, sizeof(frame)), frame);
}

/* Receives and handles one frame; its type, or 0: closed. */
static int receive_one(void)
{
	struct k2hft_frame frame;
	size_t length = receive_frame(&frame);
	const uint8_t *bytes = input + K2HFT_FRAME_HEADER_BYTES;

	if (!length)
		return 0;
	if (frame.type == K2HFT_FRAME_WELCOME)
		take_welcome(bytes, frame.body_bytes);
	else if (frame.type == K2HFT_FRAME_ACK)
		take_ack(bytes, frame.body_bytes);
	else if (frame.type == K2HFT_FRAME_PING)
		answer_ping(bytes, frame.body_bytes);
	else if (frame.type == K2HFT_FRAME_ERROR)
		print_error(bytes, frame.body_bytes);
	input_bytes -= length;
	memmove(input, input + length, input_bytes);
	return frame.type;
}

static void wait_for(int type)
{
	int got;

	do {
		got = receive_one();
		if (got == 0 || (got == K2HFT_FRAME_ERROR && type != K2HFT_FRAME_ERROR))
			fail("the receiver closed", NULL);
	} while (got != type);
}

/* Frames --------------------------------------------------------------------------------------------------------- */

static void flush(void)
{
	struct k2hft_frame frame = {
		.type = K2HFT_FRAME_DATA,
		.body_bytes = (uint32_t)body_bytes,
		.raw_bytes = (uint32_t)body_bytes,
		.gap_bytes = gap_bytes,
		.position = position,
	};
	uint8_t header[K2HFT_FRAME_HEADER_BYTES];
	uint8_t *bytes = body;
	int length = lz4 ? k2hft_frame_compress(body, body_bytes, packed, sizeof(packed)) : 0;

	if (body_bytes == 0)
		return;
	if (length > 0) {
		bytes = packed;
		frame.body_bytes = (uint32_t)length;
		frame.flags = K2HFT_FRAME_LZ4;
	}
	if (k2hft_frame_header_encode(&frame, bytes, header))
		fail("the frame can't be encoded", NULL);
	if (damage_at >= 0 && (size_t)damage_at < sizeof(header))
		header[damage_at] ^= 4;
	else if (damage_at >= 0)
		bytes[((size_t)damage_at - sizeof(header)) % frame.body_bytes] ^= 4;
	damage_at = -1;
	send_all(header, sizeof(header));
	send_all(bytes, frame.body_bytes);
	position += body_bytes;
	body_bytes = 0;
	gap_bytes = 0;
}

static void add_chunk(uint32_t stream, unsigned flags, const void *payload, size_t payload_bytes)
{
	size_t size = (size_t)k2i_align_up(K2HFT_CHUNK_HEADER_BYTES + payload_bytes, 8), i;
	uint8_t *chunk = body + body_bytes;
	struct timespec now;
	uint32_t records = 0;

	if (size > K2HFT_CHUNK_BYTES_MAX || body_bytes + size > sizeof(body) || payload_bytes == 0)
		fail("a chunk does not fit", NULL);
	for (i = 0; i < payload_bytes; i++)
		records += ((const uint8_t *)payload)[i] == '\n';
	(void)clock_gettime(CLOCK_REALTIME, &now);
	memset(chunk, 0, K2HFT_CHUNK_HEADER_BYTES);
	k2i_wire_u64_put(chunk + K2I_CHUNK_MARK_AT, size | (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT |
							    UINT64_C(0xdeadbeef) << K2I_MARK_TAG_SHIFT);
	k2i_wire_u32_put(chunk + K2I_CHUNK_STREAM_AT, stream);
	k2i_wire_u32_put(chunk + K2I_CHUNK_RECORDS_AT, records ? records : 1);
	k2i_wire_u64_put(chunk + K2I_CHUNK_TIME_AT, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	k2i_wire_u32_put(chunk + K2I_CHUNK_PID_AT, writer_pid);
	chunk[K2I_CHUNK_PAD_AT] = (uint8_t)(size - K2HFT_CHUNK_HEADER_BYTES - payload_bytes);
	k2i_wire_u16_put(chunk + K2I_CHUNK_FLAGS_AT, (uint16_t)flags);
	memcpy(chunk + K2HFT_CHUNK_HEADER_BYTES, payload, payload_bytes);
	memset(chunk + K2HFT_CHUNK_HEADER_BYTES + payload_bytes, 0, size - K2HFT_CHUNK_HEADER_BYTES - payload_bytes);
	body_bytes += size;
}

static size_t unescape(char *text)
{
	char *begin = text, *out = text;

	for (; *text; text++) {
		if (*text != '\\' || !text[1]) {
			*out++ = *text;
			continue;
		}
		text++;
		*out++ = (char)(*text == 'n' ? '\n' : *text == 'r' ? '\r' : *text == '0' ? '\0' : *text);
	}
	return (size_t)(out - begin);
}

static void window_wait(void)
{
	while (position + body_bytes > window_end)
		wait_for(K2HFT_FRAME_ACK);
}

/* Whole lines up to 64 KiB, or a part of a longer one with the flags that it wants. */
static void command_file(uint32_t stream, const char *path)
{
	static char buffer[65536];
	FILE *file = fopen(path, "rb");
	unsigned continued = 0, continues;
	size_t used = 0, got, take;
	const char *end;

	if (!file)
		fail("can't open", path);
	do {
		got = fread(buffer + used, 1, sizeof(buffer) - used, file);
		used += got;
		end = used ? memrchr(buffer, '\n', used) : NULL;
		take = got == 0 || !end ? used : (size_t)(end - buffer) + 1;
		continues = take && got && !end ? K2HFT_CHUNK_CONTINUES : 0;
		if (take) {
			add_chunk(stream, continues | continued, buffer, take);
			continued = continues ? K2HFT_CHUNK_CONTINUED : 0;
		}
		used -= take;
		memmove(buffer, buffer + take, used);
		if (body_bytes >= frame_bytes) {
			window_wait();
			flush();
		}
	} while (got > 0);
	(void)fclose(file);
	window_wait();
	flush();
}

static void command_blob(uint32_t stream, size_t byte_count, uint64_t seed)
{
	char *bytes = malloc(byte_count);
	size_t i;

	if (!bytes)
		fail("no memory", NULL);
	for (i = 0; i < byte_count; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		bytes[i] = (seed >> 58) == 0 ? '\n' : (char)('!' + (seed >> 33) % 90);
	}
	bytes[byte_count - 1] = '\n';
	add_chunk(stream, 0, bytes, byte_count);
	free(bytes);
}

/* Commands ------------------------------------------------------------------------------------------------------- */

static bool connect_try(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
	int on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (peer >= 0)
		(void)close(peer);
	input_bytes = body_bytes = 0;
	window_end = 0;
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* A frame that waits for an acknowledgement is sent at once. */
	return peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	       setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0;
}

static void command_connect(const char *port)
{
	if (!connect_try(port))
		fail("can't connect", strerror(errno));
}

static void command_hello(const char *ring, const char *epoch, const char *acked_text, const char *level)
{
	struct k2hft_hello hello = {.version_min = 1, .version_max = 1, .host = "wirehost", .software = "wire_send"};
	uint8_t frame[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];

	memcpy(hello.ring_uuid, ring, strnlen(ring, sizeof(hello.ring_uuid)));
	hello.epoch = strtoull(epoch, NULL, 10);
	hello.acked = strtoull(acked_text, NULL, 10);
	hello.level = (uint8_t)strtoul(*level ? level : "2", NULL, 10);
	hello.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT;
	hello.opening = opening;
	if (receiver_last)
		memcpy(hello.receiver_uuid, receiver_uuid, sizeof(hello.receiver_uuid));
	if (unsettled_position != UINT64_MAX) {
		hello.unsettled_count = 1;
		memcpy(hello.unsettled[0].receiver_uuid, receiver_uuid, sizeof(receiver_uuid));
		hello.unsettled[0].position = unsettled_position;
	}
	send_message(k2hft_hello_encode(&hello, frame, sizeof(frame)), frame);
}

static void command_stream(const char *id, const char *mode, const char *path, const char *host)
{
	struct k2hft_stream_message stream = {.stream_id = (uint32_t)strtoul(id, NULL, 10)};
	uint8_t frame[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];

	stream.mode = strcmp(mode, "binary") == 0 ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT;
	(void)snprintf(stream.path, sizeof(stream.path), "%s", path);
	(void)snprintf(stream.host, sizeof(stream.host), "%s", host);
	send_message(k2hft_stream_encode(&stream, frame, sizeof(frame)), frame);
}

static void command_discard(const char *from, const char *to, const char *count)
{
	struct k2hft_discard discard = {strtoull(from, NULL, 10), strtoull(to, NULL, 10), strtoull(count, NULL, 10),
					K2HFT_DISCARD_EXPIRED};
	uint8_t frame[256];

	send_message(k2hft_discard_encode(&discard, frame, sizeof(frame)), frame);
	position = discard.to;
}

static void command_token(uint8_t type, uint64_t token)
{
	struct k2hft_ping ping = {.token = token};
	uint8_t frame[256];

	send_message(k2hft_ping_encode(type, &ping, frame, sizeof(frame)), frame);
	if (type == K2HFT_FRAME_PING) {
		wait_for(K2HFT_FRAME_PONG);
		(void)printf("pong\n");
	}
}

static void command_raw(const char *hex)
{
	unsigned byte;
	uint8_t value;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		value = (uint8_t)byte;
		send_all(&value, 1);
	}
}

/* As k2hft_stream_encode, which would refuse what is not allowed. */
static void command_path(const char *id, const char *hex)
{
	uint8_t frame[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX] = {0},
						 *fields = frame + K2HFT_FRAME_HEADER_BYTES;
	struct k2hft_frame header = {.type = K2HFT_FRAME_STREAM};
	size_t bytes = 10;
	unsigned byte;

	k2i_wire_u32_put(fields, (uint32_t)strtoul(id, NULL, 10));
	k2i_wire_u32_put(fields + 4, K2HFT_STREAM_TEXT);
	for (; bytes < K2HFT_MESSAGE_BYTES_MAX - 2 && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		fields[bytes++] = (uint8_t)byte;
	k2i_wire_u16_put(fields + 8, (uint16_t)(bytes - 10));
	header.body_bytes = header.raw_bytes = (uint32_t)bytes + 2; /* no host */
	if (k2hft_frame_header_encode(&header, fields, frame) == 0)
		send_message((int)(K2HFT_FRAME_HEADER_BYTES + header.body_bytes), frame);
}

static bool command_wait(const char *name, const char *argument)
{
	if (strcmp(name, "welcome") == 0) {
		wait_for(K2HFT_FRAME_WELCOME);
	} else if (strcmp(name, "ack") == 0) {
		while (acked < position)
			wait_for(K2HFT_FRAME_ACK);
		(void)printf("ack %" PRIu64 "\n", acked);
	} else if (strcmp(name, "status") == 0) {
		do
			wait_for(K2HFT_FRAME_ACK);
		while (ack_status != strtoul(argument, NULL, 10));
		(void)printf("status %u at %" PRIu64 "\n", ack_status, acked);
	} else if (strcmp(name, "error") == 0) {
		wait_for(K2HFT_FRAME_ERROR);
	} else if (strcmp(name, "closed") == 0) {
		while (receive_one())
			;
		(void)printf("closed\n");
	} else {
		return false;
	}
	return true;
}

static void hex_take(const char *hex, uint8_t *bytes, size_t byte_count)
{
	unsigned byte;

	for (size_t at = 0; at < byte_count && sscanf(hex, "%2x", &byte) == 1; at++, hex += 2)
		bytes[at] = (uint8_t)byte;
}

static bool command_greeting(const char *name, const char *value)
{
	if (strcmp(name, "opening") == 0)
		opening = strtoull(value, NULL, 10);
	else if (strcmp(name, "unsettled") == 0)
		unsettled_position = strtoull(value, NULL, 10);
	else if (strcmp(name, "receiver") == 0)
		hex_take(value, receiver_uuid, sizeof(receiver_uuid));
	else if (strcmp(name, "last") == 0)
		receiver_last = true;
	else
		return false;
	return true;
}

static bool command_set(const char *name, const char *value)
{
	uint64_t number = strtoull(value, NULL, 10);

	if (strcmp(name, "position") == 0)
		position = number;
	else if (strcmp(name, "gap") == 0)
		gap_bytes = (uint32_t)number;
	else if (strcmp(name, "lz4") == 0)
		lz4 = number != 0;
	else if (strcmp(name, "frame") == 0)
		frame_bytes = (size_t)number;
	else if (strcmp(name, "pid") == 0)
		writer_pid = (uint32_t)number;
	else if (strcmp(name, "damage") == 0)
		damage_at = (long)number;
	else
		return false;
	return true;
}

static bool command_talk(char *words[5])
{
	if (strcmp(words[0], "connect") == 0)
		command_connect(words[1]);
	else if (strcmp(words[0], "hello") == 0)
		command_hello(words[1], words[2], words[3], words[4]);
	else if (strcmp(words[0], "stream") == 0)
		command_stream(words[1], words[2], words[3], words[4]);
	else if (strcmp(words[0], "path") == 0)
		command_path(words[1], words[2]);
	else if (strcmp(words[0], "discard") == 0)
		command_discard(words[1], words[2], words[3]);
	else if (strcmp(words[0], "ping") == 0)
		command_token(K2HFT_FRAME_PING, 42);
	else if (strcmp(words[0], "bye") == 0)
		command_token(K2HFT_FRAME_BYE, strtoull(words[1], NULL, 10));
	else if (strcmp(words[0], "raw") == 0)
		command_raw(words[1]);
	else if (strcmp(words[0], "close") == 0)
		(void)shutdown(peer, SHUT_WR);
	else
		return false;
	return true;
}

static bool command_data(char *words[5])
{
	uint32_t stream = (uint32_t)strtoul(words[1], NULL, 10);

	if (strcmp(words[0], "chunk") == 0)
		add_chunk(stream, (unsigned)strtoul(words[2], NULL, 10), words[3], unescape(words[3]));
	else if (strcmp(words[0], "blob") == 0)
		command_blob(stream, strtoul(words[2], NULL, 10), strtoull(words[3], NULL, 10));
	else if (strcmp(words[0], "file") == 0)
		command_file(stream, words[2]);
	else if (strcmp(words[0], "flush") == 0)
		flush();
	else
		return false;
	return true;
}

/* Resuming ------------------------------------------------------------------------------------------------------- */

#define RESUME_CHUNK_BYTES 32768u
#define RESUME_PAYLOAD_BYTES (RESUME_CHUNK_BYTES - K2HFT_CHUNK_HEADER_BYTES)

/* Adds the chunk at `at`; false: the file ends there. */
static bool resume_chunk(FILE *file, uint64_t at)
{
	static uint8_t payload[RESUME_PAYLOAD_BYTES];
	size_t got;

	if (fseeko(file, (off_t)(at / RESUME_CHUNK_BYTES * RESUME_PAYLOAD_BYTES), SEEK_SET))
		fail("can't seek", strerror(errno));
	got = fread(payload, 1, sizeof(payload), file);
	if (got)
		add_chunk(1, 0, payload, got);
	return got == sizeof(payload);
}

/* A connection; true: everything is acknowledged. Frames are cut in another way each time. */
static bool resume_once(char **arguments, FILE *file, unsigned round)
{
	const char *port = arguments[0], *ring = arguments[1], *path = arguments[2];
	struct timespec pause = {0, (long)strtoul(arguments[4], NULL, 10) * 1000000};
	char acked_text[32];
	unsigned chunks_max = 1 + round * 7 % 31, chunks;
	bool more = true;

	(void)snprintf(acked_text, sizeof(acked_text), "%" PRIu64, acked);
	if (!connect_try(port))
		return false;
	command_hello(ring, "1", acked_text, "");
	if (receive_one() != K2HFT_FRAME_WELCOME)
		return false;
	command_stream("1", "text", path, "");
	while (more) {
		for (chunks = 0; more && chunks < chunks_max; chunks++)
			more = resume_chunk(file, position + body_bytes);
		while (position + body_bytes > window_end) {
			if (!receive_one())
				return false;
		}
		flush();
		(void)nanosleep(&pause, NULL);
	}
	while (acked < position) {
		if (!receive_one())
			return false;
	}
	return true;
}

static int resume(char **arguments)
{
	struct timespec pause = {0, 20000000};
	FILE *file = fopen(arguments[3], "rb");
	uint64_t reached = 0;
	unsigned round, idle = 0;

	if (!file)
		fail("can't open", arguments[3]);
	for (round = 0; !resume_once(arguments, file, round); round++) {
		idle = acked == reached ? idle + 1 : 0;
		reached = acked;
		if (idle > 1000)
			fail("no progress", NULL);
		(void)nanosleep(&pause, NULL);
	}
	(void)printf("done after %u connections\n", round + 1);
	(void)fclose(file);
	return 0;
}

/* The text of a chunk is the rest of the line. */
static void words_split(char *line, char *words[5])
{
	int count, word_max;

	line[strcspn(line, "\n")] = '\0';
	word_max = strncmp(line, "chunk ", 6) == 0 ? 4 : 5;
	for (count = 0; count < word_max; count++) {
		words[count] = line;
		if (count + 1 < word_max)
			line += strcspn(line, " ");
		if (count + 1 < word_max && *line)
			*line++ = '\0';
	}
	for (; count < 5; count++)
		words[count] = words[count - 1] + strlen(words[count - 1]);
}

int main(int argc, char **argv)
{
	static char line[70000];
	char *words[5];

	if (argc == 7 && strcmp(argv[1], "--resume") == 0)
		return resume(argv + 2);
	while (fgets(line, sizeof(line), stdin)) {
		words_split(line, words);
		if (!*words[0] || *words[0] == '#')
			continue;
		if (!command_wait(words[0], words[1]) && !command_talk(words) && !command_data(words) &&
		    !command_greeting(words[0], words[1]) && !command_set(words[0], words[1]))
			fail("unknown command", words[0]);
		(void)fflush(stdout);
	}
	return 0;
}
