/* SPDX-License-Identifier: MIT */
/* Requests of OTLP, read by the library of their messages, and what the answers of a server of HTTP mean. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <zlib.h>

#include "unit.h"
#include "receiver/sink/otlp/logs.pb-c.h"
#include "receiver/sink/otlp/peer.h"

#define REQUEST_BYTES 100000u
#define GZIP_WINDOW (15 + 16)

/* Requests -------------------------------------------------------------------------------------------------------- */

static struct k2i_remote_piece *piece_make(uint64_t position, const char *host, const char *records, size_t bytes)
{
	struct k2i_remote_piece *piece = calloc(1, sizeof(*piece) + bytes);

	assert_non_null(piece);
	memcpy(piece->ring, "0123456789abcdef", 16);
	memcpy(piece->records, records, bytes);
	piece->bytes = bytes;
	piece->position = position;
	piece->origin =
		(struct k2i_format_origin){.path = "a/b.log", .host = host, .writer_pid = 7, .time_ns = 5000000001};
	return piece;
}

static void pieces_free(struct k2i_remote_piece **pieces, size_t count)
{
	for (size_t at = 0; at < count; at++)
		free(pieces[at]);
}

static Otlp__Request *request_read(const struct k2i_otlp_request *request)
{
	Otlp__Request *read = otlp__request__unpack(NULL, request->body_bytes, request->body);

	assert_non_null(read);
	return read;
}

static void expect_bytes(const ProtobufCBinaryData *data, const char *wanted, size_t bytes)
{
	assert_int_equal(data->len, bytes);
	if (bytes)
		assert_memory_equal(data->data, wanted, bytes);
}

static void expect_text(const Otlp__Value *value, const char *wanted)
{
	assert_int_equal(value->value_case, OTLP__VALUE__VALUE_STRING_VALUE);
	expect_bytes(&value->string_value, wanted, strlen(wanted));
}

static const Otlp__Value *attribute_of(const Otlp__Record *record, const char *key)
{
	for (size_t at = 0; at < record->n_attributes; at++)
		if (strcmp(record->attributes[at]->key, key) == 0)
			return record->attributes[at]->value;
	fail_msg("no attribute %s", key);
	return NULL;
}

static void expect_record(const Otlp__Record *record, uint64_t position)
{
	const Otlp__Value *value = attribute_of(record, "k2hft.position");

	assert_int_equal(value->value_case, OTLP__VALUE__VALUE_INT_VALUE);
	assert_int_equal(value->int_value, position);
	expect_text(attribute_of(record, "log.file.path"), "a/b.log");
	expect_text(attribute_of(record, "k2hft.ring"), "30313233-3435-3637-3839-616263646566");
	assert_int_equal(attribute_of(record, "process.pid")->int_value, 7);
	assert_int_equal(record->n_attributes, 4);
	assert_int_equal(record->time_unix_nano, 5000000001);
	assert_true(record->observed_time_unix_nano > record->time_unix_nano);
}

/* Records are text where they are UTF-8, else bytes; those of a host stand together, in their order. */
TEST(test_request)
{
	struct k2i_remote_piece *pieces[] = {piece_make(64, "one", "first\r\n\nGr\xc3\xbcn\n", 14),
					     piece_make(128, "two", "\xff\n", 2), piece_make(256, "one", "a\nb", 3)};
	struct k2i_otlp_request request = {0};
	Otlp__Request *read;
	Otlp__Record **records;

	pieces[2]->binary = true;
	assert_int_equal(k2i_otlp_request_make(&request, pieces, 3, 0, REQUEST_BYTES, false), 0);
	assert_int_equal(request.record_count, 5);
	assert_int_equal(request.ended, 3);
	assert_int_equal(request.rest, 0);
	read = request_read(&request);
	assert_int_equal(read->n_resource_logs, 2);
	assert_int_equal(read->resource_logs[0]->resource->n_attributes, 1);
	assert_string_equal(read->resource_logs[0]->resource->attributes[0]->key, "host.name");
	expect_text(read->resource_logs[0]->resource->attributes[0]->value, "one");
	expect_text(read->resource_logs[1]->resource->attributes[0]->value, "two");
	assert_int_equal(read->resource_logs[0]->n_scope_logs, 1);
	assert_string_equal(read->resource_logs[0]->scope_logs[0]->scope->name, "k2hft");
	assert_int_equal(read->resource_logs[0]->scope_logs[0]->n_log_records, 4);
	records = read->resource_logs[0]->scope_logs[0]->log_records;
	expect_text(records[0]->body, "first\r");
	expect_record(records[0], 64);
	expect_text(records[1]->body, "");
	expect_record(records[1], 71);
	expect_text(records[2]->body, "Gr\xc3\xbcn");
	expect_record(records[2], 72);
	assert_int_equal(records[3]->body->value_case, OTLP__VALUE__VALUE_BYTES_VALUE);
	expect_bytes(&records[3]->body->bytes_value, "a\nb", 3);
	expect_record(records[3], 256);
	records = read->resource_logs[1]->scope_logs[0]->log_records;
	assert_int_equal(records[0]->body->value_case, OTLP__VALUE__VALUE_BYTES_VALUE);
	expect_bytes(&records[0]->body->bytes_value, "\xff", 1);
	expect_record(records[0], 128);
	otlp__request__free_unpacked(read, NULL);
	k2i_otlp_request_free(&request);
	pieces_free(pieces, 3);
}

/* Each record is in one request, whatever the size; the smallest has one. */
TEST(test_requests_end)
{
	static char records[4000];
	struct k2i_remote_piece *pieces[2];
	struct k2i_otlp_request request = {0};
	size_t at, offset, count = 0;

	memset(records, 'x', sizeof(records));
	for (at = 19; at < sizeof(records); at += 20)
		records[at] = '\n';
	pieces[0] = piece_make(0, "one", records, sizeof(records));
	pieces[1] = piece_make(8192, "one", records, sizeof(records));
	for (size_t bytes_max = 1; bytes_max < 100000; bytes_max *= 8) {
		for (at = 0, offset = 0, count = 0; at < 2; at += request.ended, offset = request.rest) {
			assert_int_equal(k2i_otlp_request_make(&request, pieces + at, 2 - at, offset, bytes_max, false),
					 0);
			assert_in_range(request.record_count, 1, bytes_max / 20 + 1);
			assert_true(request.rest % 20 == 0 && request.rest < sizeof(records));
			count += request.record_count;
		}
		assert_int_equal(count, 2 * sizeof(records) / 20);
		assert_int_equal(offset, 0);
	}
	k2i_otlp_request_free(&request);
	pieces_free(pieces, 2);
}

TEST(test_compressed)
{
	static uint8_t plain[REQUEST_BYTES];
	struct k2i_remote_piece *piece = piece_make(64, "one", "first\nsecond\n", 13);
	struct k2i_otlp_request request = {0};
	z_stream stream = {.next_out = plain, .avail_out = sizeof(plain)};
	Otlp__Request *read;

	assert_int_equal(k2i_otlp_request_make(&request, &piece, 1, 0, REQUEST_BYTES, true), 0);
	stream.next_in = (uint8_t *)(uintptr_t)request.body;
	stream.avail_in = (uInt)request.body_bytes;
	assert_int_equal(inflateInit2(&stream, GZIP_WINDOW), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, request.raw_bytes);
	(void)inflateEnd(&stream);
	read = otlp__request__unpack(NULL, request.raw_bytes, plain);
	assert_non_null(read);
	expect_text(read->resource_logs[0]->scope_logs[0]->log_records[1]->body, "second");
	otlp__request__free_unpacked(read, NULL);
	k2i_otlp_request_free(&request);
	free(piece);
}

/* Answers --------------------------------------------------------------------------------------------------------- */

static int listener = -1;
static struct {
	_Atomic(const char *) bytes; /* NULL: it waits until the other side has gone */
	atomic_size_t count;
} said;

/* Says the same to each request, and closes. */
static void *server_run(void *argument)
{
	static char request[65536];
	int connection;

	(void)argument;
	while ((connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		const char *bytes;

		(void)!recv(connection, request, sizeof(request), 0);
		bytes = atomic_load(&said.bytes);
		if (bytes)
			(void)!send(connection, bytes, atomic_load(&said.count), MSG_NOSIGNAL);
		else
			(void)!recv(connection, request, sizeof(request), 0);
		(void)close(connection);
	}
	return NULL;
}

struct world {
	pthread_t server;
	char endpoint[64];
	struct k2i_settings settings;
	struct k2i_otlp_peer *peer;
	int stop;
};

static int world_open(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	assert_non_null(world);
	*state = world;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(pthread_create(&world->server, NULL, server_run, NULL), 0);
	(void)snprintf(world->endpoint, sizeof(world->endpoint), "http://127.0.0.1:%u/", ntohs(address.sin_port));
	world->settings.otlp_endpoint = world->endpoint;
	world->settings.otlp_timeout_ms = 60000;
	world->stop = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(k2i_otlp_peer_open(&world->settings, &world->peer), 0);
	return 0;
}

static int world_close(void **state)
{
	struct world *world = *state;

	k2i_otlp_peer_free(world->peer);
	(void)shutdown(listener, SHUT_RDWR);
	(void)pthread_join(world->server, NULL);
	(void)close(listener);
	(void)close(world->stop);
	free(world);
	return 0;
}

static struct k2i_otlp_answer answer_get(struct world *world, const char *bytes, size_t count)
{
	static const struct k2i_otlp_request request = {.body = (const uint8_t *)"body", .body_bytes = 4};
	struct k2i_otlp_answer answer;

	atomic_store(&said.count, count);
	atomic_store(&said.bytes, bytes);
	assert_int_equal(k2i_otlp_peer_post(world->peer, &request, world->stop, &answer), 0);
	return answer;
}

#define HTTP(status, headers, body, bytes) "HTTP/1.1 " status " So\r\n" headers "Content-Length: " bytes "\r\n\r\n" body

#define CASE(verdict, rejected, after_ms, reason, text)                                                                \
	{                                                                                                              \
		verdict, rejected, after_ms, reason, text, sizeof(text) - 1                                            \
	}
static const struct {
	enum k2i_otlp_verdict verdict;
	uint64_t rejected, after_ms;
	const char *reason; /* NULL: libcurl's */
	const char *text;
	size_t bytes;
} answers[] = {
	CASE(K2I_OTLP_STORED, 0, 0, "", HTTP("200", "", "", "0")),
	CASE(K2I_OTLP_STORED, 0, 0, "", HTTP("202", "Retry-After: 9\r\n", "", "0")),
	CASE(K2I_OTLP_REJECTED, 3, 0, "bad",
	     HTTP("200", "",
		  "\x0a\x07\x08\x03\x12\x03"
		  "bad",
		  "9")),
	CASE(K2I_OTLP_STORED, 0, 0, "bad",
	     HTTP("200", "",
		  "\x0a\x05\x12\x03"
		  "bad",
		  "7")),
	/* It can't have rejected fewer than none. */
	CASE(K2I_OTLP_STORED, 0, 0, "", HTTP("200", "", "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "13")),
	CASE(K2I_OTLP_STORED, 0, 0, "its answer can't be read", HTTP("200", "", "\x0a\x7f", "2")),
	CASE(K2I_OTLP_LATER, 0, 7000, "it answers 429: no",
	     HTTP("429", "Retry-After: 7\r\n", "\x08\x08\x12\x02no", "6")),
	CASE(K2I_OTLP_LATER, 0, 0, "it answers 503", HTTP("503", "Retry-After: soon\r\n", "", "0")),
	CASE(K2I_OTLP_LATER, 0, 0, "it answers 503", HTTP("503", "Retry-After: -5\r\n", "", "0")),
	CASE(K2I_OTLP_LATER, 0, 0, "it answers 503", HTTP("503", "Retry-After: 99999999999999999999\r\n", "", "0")),
	CASE(K2I_OTLP_LATER, 0, 0, "it answers 502", HTTP("502", "", "", "0")),
	CASE(K2I_OTLP_LATER, 0, 0, "it answers 504", HTTP("504", "", "", "0")),
	CASE(K2I_OTLP_REFUSED, 0, 0, "it answers 400: no", HTTP("400", "Retry-After: 7\r\n", "\x12\x02no", "4")),
	CASE(K2I_OTLP_REFUSED, 0, 0, "it answers 400", HTTP("400", "", "\xff", "1")),
	CASE(K2I_OTLP_REFUSED, 0, 0, "it answers 500", HTTP("500", "", "", "0")),
	CASE(K2I_OTLP_REFUSED, 0, 0, "it answers 301", HTTP("301", "Location: /other\r\n", "", "0")),
	CASE(K2I_OTLP_TOO_LARGE, 0, 0, "it answers 413", HTTP("413", "", "", "0")),
	CASE(K2I_OTLP_LATER, 0, 0, NULL, ""),
	CASE(K2I_OTLP_LATER, 0, 0, NULL, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"),
	CASE(K2I_OTLP_LATER, 0, 0, NULL, "SSH-2.0-server\r\n"),
};

FIXTURE_TEST(test_answers, struct world *world, world_open, world_close)
{
	for (size_t at = 0; at < sizeof(answers) / sizeof(answers[0]); at++) {
		const struct k2i_otlp_answer answer = answer_get(world, answers[at].text, answers[at].bytes);

		print_message("%s\n", answers[at].text);
		assert_int_equal(answer.verdict, answers[at].verdict);
		assert_int_equal(answer.rejected, answers[at].rejected);
		assert_int_equal(answer.after_ms, answers[at].after_ms);
		if (answers[at].reason)
			assert_string_equal(answer.reason, answers[at].reason);
		else
			assert_true(*answer.reason);
	}
}

/* A server that does not answer in time may have got too much; and the end of the sink ends the wait. */
FIXTURE_TEST(test_no_answer, struct world *world, world_open, world_close)
{
	static const struct k2i_otlp_request request = {.body = (const uint8_t *)"body", .body_bytes = 4};
	struct k2i_otlp_answer answer;
	const uint64_t one = 1;

	atomic_store(&said.bytes, NULL);
	assert_int_equal(write(world->stop, &one, sizeof(one)), sizeof(one));
	assert_int_equal(k2i_otlp_peer_post(world->peer, &request, world->stop, &answer), -ECANCELED);
	k2i_otlp_peer_free(world->peer);
	(void)close(world->stop);
	world->stop = eventfd(0, EFD_CLOEXEC);
	world->settings.otlp_timeout_ms = 100;
	assert_int_equal(k2i_otlp_peer_open(&world->settings, &world->peer), 0);
	answer = answer_get(world, NULL, 0);
	assert_int_equal(answer.verdict, K2I_OTLP_SLOW);
	assert_true(*answer.reason);
}

TEST(test_url)
{
	static const char *const endpoints[] = {"http://h:1", "http://h:1/", "http://h:1/v1/logs",
						"http://h:1/v1/logs//"};
	struct k2i_settings settings = {.otlp_timeout_ms = 1000};
	struct k2i_otlp_peer *peer;

	for (size_t at = 0; at < sizeof(endpoints) / sizeof(endpoints[0]); at++) {
		settings.otlp_endpoint = (char *)(uintptr_t)endpoints[at];
		assert_int_equal(k2i_otlp_peer_open(&settings, &peer), 0);
		assert_string_equal(k2i_otlp_peer_url(peer), "http://h:1/v1/logs");
		k2i_otlp_peer_free(peer);
	}
}
