/* SPDX-License-Identifier: MIT */
/*
 * Answers of an OpenTelemetry Collector. The input: a byte, then the body of an answer with 2xx, of one with an error, or, all
 * of what comes over a connection, with its status and headers.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "receiver/sink/otlp/peer.h"
#include "fuzz.h"

static int listener;
/* Another connection can come when the one that failed has been reported. */
static struct answer {
	uint8_t bytes[65536];
	size_t size;
} said;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void answer_set(const uint8_t *data, size_t size)
{
	(void)pthread_mutex_lock(&mutex);
	said.size = size < sizeof(said.bytes) ? size : sizeof(said.bytes);
	memcpy(said.bytes, data, said.size);
	(void)pthread_mutex_unlock(&mutex);
}

/* A server that says to each request the same, and closes. */
static void *server_run(void *argument)
{
	static char request[65536];
	static struct answer answer;
	size_t left;
	ssize_t count;
	int connection;

	(void)argument;
	while ((connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		/* The request is small: it comes at once. */
		(void)!recv(connection, request, sizeof(request), 0);
		(void)pthread_mutex_lock(&mutex);
		answer = said;
		(void)pthread_mutex_unlock(&mutex);
		for (left = answer.size; left > 0; left -= (size_t)count) {
			count = send(connection, answer.bytes + answer.size - left, left, MSG_NOSIGNAL);
			if (count <= 0)
				break;
		}
		(void)close(connection);
	}
	return NULL;
}

/* For as long as the process lives. */
static struct k2i_otlp_peer *peer_get(void)
{
	static struct k2i_settings settings = {.otlp_timeout_ms = 5000};
	static struct k2i_otlp_peer *peer;
	static char endpoint[64];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	pthread_t server;

	if (peer)
		return peer;
	fuzz_log_open();
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fuzz_check(listener >= 0 && bind(listener, (const struct sockaddr *)&address, size) == 0);
	fuzz_check(listen(listener, 16) == 0 && getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	fuzz_check(pthread_create(&server, NULL, server_run, NULL) == 0);
	(void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", ntohs(address.sin_port));
	settings.otlp_endpoint = endpoint;
	fuzz_check(k2i_otlp_peer_open(&settings, &peer) == 0);
	return peer;
}

static void answer_check(const struct k2i_otlp_answer *answer)
{
	fuzz_check(memchr(answer->reason, '\0', sizeof(answer->reason)));
	fuzz_check(answer->verdict != K2I_OTLP_REJECTED || answer->rejected > 0);
	fuzz_check(answer->after_ms == 0 || answer->verdict == K2I_OTLP_LATER);
	fuzz_check(answer->after_ms <= UINT64_C(1000) * INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct k2i_otlp_request request = {.body = (const uint8_t *)"body", .body_bytes = 4};
	static int never = -1;
	struct k2i_otlp_answer answer = {.verdict = K2I_OTLP_STORED};

	if (size < 1)
		return 0;
	never = never < 0 ? eventfd(0, EFD_CLOEXEC) : never;
	switch (data[0] % 3) {
	case 0:
		answer_set(data + 1, size - 1);
		fuzz_check(k2i_otlp_peer_post(peer_get(), &request, never, &answer) == 0);
		break;
	case 1:
		k2i_otlp_answer_success(data + 1, size - 1, &answer);
		fuzz_check(answer.verdict == K2I_OTLP_STORED || answer.verdict == K2I_OTLP_REJECTED);
		break;
	default:
		k2i_otlp_answer_error(data + 1, size - 1, answer.reason);
		break;
	}
	answer_check(&answer);
	return 0;
}
