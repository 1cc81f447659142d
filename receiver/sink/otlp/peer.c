/* SPDX-License-Identifier: MIT */
#include "receiver/sink/otlp/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <k2hft/version.h>

#include "base/crash.h"
#include "base/log.h"
#include "receiver/base/text.h"

/* More of an answer is not read. */
#define ANSWER_BYTES_MAX 65536u
#define ANSWER_HEADER_BYTES_MAX 65536u
#define LOGS_PATH "/v1/logs"

struct k2i_otlp_peer {
	const struct k2i_settings *settings;
	char *url;
	CURLM *multi; /* has the connections */
	CURL *easy;
	struct curl_slist *headers;
	uint8_t body[ANSWER_BYTES_MAX]; /* of the answer */
	size_t body_bytes, header_bytes;
	char error[CURL_ERROR_SIZE];
};

/* Opening --------------------------------------------------------------------------------------------------------- */

/* OTLP_ENDPOINT is the base of all of a peer's URLs; but one that has all of this one is what is meant. */
static char *url_make(const char *endpoint)
{
	size_t bytes = strlen(endpoint), path_bytes = sizeof(LOGS_PATH) - 1;
	char *url;

	while (bytes && endpoint[bytes - 1] == '/')
		bytes--;
	if (bytes >= path_bytes && strncmp(endpoint + bytes - path_bytes, LOGS_PATH, path_bytes) == 0)
		bytes -= path_bytes;
	return asprintf(&url, "%.*s%s", (int)bytes, endpoint, LOGS_PATH) < 0 ? NULL : url;
}

static size_t body_take(char *bytes, size_t size, size_t count, void *argument)
{
	struct k2i_otlp_peer *peer = argument;
	size_t room = sizeof(peer->body) - peer->body_bytes, taken = size * count < room ? size * count : room;

	memcpy(peer->body + peer->body_bytes, bytes, taken);
	peer->body_bytes += taken;
	return taken;
}

static size_t header_take(char *bytes, size_t size, size_t count, void *argument)
{
	struct k2i_otlp_peer *peer = argument;

	(void)bytes;
	peer->header_bytes += size * count;
	return peer->header_bytes > ANSWER_HEADER_BYTES_MAX ? 0 : size * count;
}

static CURLcode files_set(CURL *easy, const struct k2i_settings *settings)
{
	CURLcode code = CURLE_OK;

	if (settings->otlp_authority)
		code = curl_easy_setopt(easy, CURLOPT_CAINFO, settings->otlp_authority);
	if (!code && settings->otlp_certificate)
		code = curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->otlp_certificate);
	if (!code && settings->otlp_private_key)
		code = curl_easy_setopt(easy, CURLOPT_SSLKEY, settings->otlp_private_key);
	return code;
}

static CURLcode easy_set(struct k2i_otlp_peer *peer)
{
	CURL *easy = peer->easy;
	CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, peer->url);

#define SET(option, value) code = code ? code : curl_easy_setopt(easy, option, value)
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_USERAGENT, "k2hft/" K2HFT_VERSION_STRING);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)peer->settings->otlp_timeout_ms);
	SET(CURLOPT_HTTPHEADER, peer->headers);
	SET(CURLOPT_WRITEFUNCTION, body_take);
	SET(CURLOPT_WRITEDATA, peer);
	SET(CURLOPT_HEADERFUNCTION, header_take);
	SET(CURLOPT_HEADERDATA, peer);
	SET(CURLOPT_ERRORBUFFER, peer->error);
#undef SET
	return code ? code : files_set(easy, peer->settings);
}

static int headers_make(const struct k2i_settings *settings, struct curl_slist **headers)
{
	static const char *const own[] = {"Content-Type: application/x-protobuf", "Expect:", "Content-Encoding: gzip"};
	struct curl_slist *list = NULL, *longer;
	int error = 0;

	for (size_t i = 0; i < 2u + settings->otlp_gzip && !error; i++) {
		longer = curl_slist_append(list, own[i]);
		list = longer ? longer : list;
		error = longer ? 0 : -ENOMEM;
	}
	if (!error)
		error = k2i_otlp_headers_add(settings, &list);
	if (error)
		curl_slist_free_all(list);
	else
		*headers = list;
	return error;
}

static int handles_make(struct k2i_otlp_peer *peer)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;

	peer->multi = curl_multi_init();
	peer->easy = curl_easy_init();
	if (peer->multi && peer->easy)
		code = easy_set(peer);
	if (code)
		k2i_log(K2HFT_LOG_ERROR, "otlp: %s: %s", peer->url ? peer->url : "OTLP_ENDPOINT",
			curl_easy_strerror(code));
	return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : code ? -EINVAL : 0;
}

static void handles_free(struct k2i_otlp_peer *peer)
{
	curl_easy_cleanup(peer->easy);
	(void)curl_multi_cleanup(peer->multi);
}

int k2i_otlp_peer_open(const struct k2i_settings *settings, struct k2i_otlp_peer **peer)
{
	struct k2i_otlp_peer *opened = calloc(1, sizeof(*opened));
	int error = -ENOMEM;

	*peer = opened;
	if (!opened || curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(opened);
		k2i_log(K2HFT_LOG_ERROR, "otlp: %s", k2i_text_error(-ENOMEM));
		return -ENOMEM;
	}
	opened->settings = settings;
	opened->url = url_make(settings->otlp_endpoint);
	if (opened->url)
		error = headers_make(settings, &opened->headers);
	if (!error)
		error = handles_make(opened);
	if (error)
		k2i_otlp_peer_free(opened);
	return error;
}

void k2i_otlp_peer_free(struct k2i_otlp_peer *peer)
{
	handles_free(peer);
	curl_slist_free_all(peer->headers);
	free(peer->url);
	free(peer);
	curl_global_cleanup();
}

const char *k2i_otlp_peer_url(const struct k2i_otlp_peer *peer)
{
	return peer->url;
}

void k2i_otlp_peer_renew(struct k2i_otlp_peer *peer)
{
	struct k2i_otlp_peer renewed = {.settings = peer->settings, .url = peer->url};

	if (headers_make(peer->settings, &renewed.headers) == 0) {
		(void)curl_easy_setopt(peer->easy, CURLOPT_HTTPHEADER, renewed.headers);
		curl_slist_free_all(peer->headers);
		peer->headers = renewed.headers;
	}
	/* The connections go with it. */
	(void)curl_multi_cleanup(peer->multi);
	peer->multi = curl_multi_init();
}

/* Requests -------------------------------------------------------------------------------------------------------- */

/* Until it is answered, or failed. -ECANCELED, -ENOMEM */
static int exchange_wait(struct k2i_otlp_peer *peer, int stop, CURLcode *code)
{
	struct curl_waitfd stopped = {.fd = stop, .events = CURL_WAIT_POLLIN};
	CURLMcode error = curl_multi_add_handle(peer->multi, peer->easy);
	int running = 1, queued;
	CURLMsg *message;

	while (!error && running) {
		error = curl_multi_perform(peer->multi, &running);
		K2I_CRASH(otlp_performed);
		if (!error && running)
			error = curl_multi_poll(peer->multi, &stopped, 1, 1000, NULL);
		if (stopped.revents)
			break;
	}
	message = curl_multi_info_read(peer->multi, &queued);
	*code = message ? message->data.result : CURLE_FAILED_INIT;
	(void)curl_multi_remove_handle(peer->multi, peer->easy);
	return stopped.revents ? -ECANCELED : error ? -ENOMEM : 0;
}

static void answer_failed(struct k2i_otlp_peer *peer, CURLcode code, struct k2i_otlp_answer *answer)
{
	answer->verdict = code == CURLE_OPERATION_TIMEDOUT ? K2I_OTLP_SLOW : K2I_OTLP_LATER;
	(void)snprintf(answer->reason, sizeof(answer->reason), "%s",
		       *peer->error ? peer->error : curl_easy_strerror(code));
}

static void answer_judge(struct k2i_otlp_peer *peer, long status, struct k2i_otlp_answer *answer)
{
	char said[K2I_REMOTE_REASON_BYTES];
	curl_off_t after_s = 0;

	if (status >= 200 && status < 300) {
		k2i_otlp_answer_success(peer->body, peer->body_bytes, answer);
		return;
	}
	(void)curl_easy_getinfo(peer->easy, CURLINFO_RETRY_AFTER, &after_s);
	k2i_otlp_answer_error(peer->body, peer->body_bytes, said);
	(void)snprintf(answer->reason, sizeof(answer->reason), "it answers %ld%s%.200s", status, *said ? ": " : "",
		       said);
	if (status == 429 || (status >= 502 && status <= 504)) {
		answer->verdict = K2I_OTLP_LATER;
		answer->after_ms = after_s > 0 && after_s < INT32_MAX ? (uint64_t)after_s * 1000 : 0;
	} else {
		answer->verdict = status == 413 ? K2I_OTLP_TOO_LARGE : K2I_OTLP_REFUSED;
	}
}

/*
 * Each answer has a handle of its own: libcurl 7.88, of Debian 12, looks for the begin of a folded header among the headers
 * of the handle's last answer, which are freed. The connections are not the handle's.
 */
static int easy_renew(struct k2i_otlp_peer *peer)
{
	CURL *renewed = curl_easy_duphandle(peer->easy);

	if (!renewed)
		return -ENOMEM;
	curl_easy_cleanup(peer->easy);
	peer->easy = renewed;
	return 0;
}

int k2i_otlp_peer_post(struct k2i_otlp_peer *peer, const struct k2i_otlp_request *request, int stop,
		       struct k2i_otlp_answer *answer)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;
	long status = 0;
	int error;

	*answer = (struct k2i_otlp_answer){.verdict = K2I_OTLP_LATER};
	peer->body_bytes = peer->header_bytes = 0;
	peer->error[0] = '\0';
	if (!peer->multi)
		peer->multi = curl_multi_init();
	error = peer->multi ? easy_renew(peer) : -ENOMEM;
	(void)curl_easy_setopt(peer->easy, CURLOPT_POSTFIELDS, request->body);
	(void)curl_easy_setopt(peer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
	if (!error)
		error = exchange_wait(peer, stop, &code);
	if (error == -ECANCELED)
		return error;
	(void)curl_easy_getinfo(peer->easy, CURLINFO_RESPONSE_CODE, &status);
	/* An answer that is too long has said with its status what is to be known, and its connection is closed. */
	if (!code || (code == CURLE_WRITE_ERROR && peer->body_bytes == sizeof(peer->body)))
		answer_judge(peer, status, answer);
	else
		answer_failed(peer, error ? CURLE_OUT_OF_MEMORY : code, answer);
	return 0;
}
