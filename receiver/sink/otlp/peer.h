/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_OTLP_PEER_H
#define K2I_RECEIVER_SINK_OTLP_PEER_H

#include "config/settings.h"
#include "receiver/sink/otlp/request.h"

/* The other side, which answers requests, by HTTP. Nothing of an answer is taken for true but its status. */
struct k2i_otlp_peer;

enum k2i_otlp_verdict {
	K2I_OTLP_STORED,
	K2I_OTLP_REJECTED, /* a part: `rejected` records */
	K2I_OTLP_REFUSED,
	K2I_OTLP_TOO_LARGE,
	K2I_OTLP_LATER,
	K2I_OTLP_SLOW, /* likewise: it did not answer in time */
};

struct k2i_otlp_answer {
	enum k2i_otlp_verdict verdict;
	uint64_t rejected;
	uint64_t after_ms;                    /* LATER: it wants so much patience; 0: it does not say */
	char reason[K2I_REMOTE_REASON_BYTES]; /* control characters are in it */
};

/* The error was logged. */
int k2i_otlp_peer_open(const struct k2i_settings *settings, struct k2i_otlp_peer **peer);
void k2i_otlp_peer_free(struct k2i_otlp_peer *peer);
const char *k2i_otlp_peer_url(const struct k2i_otlp_peer *peer);
/* Connections, and the files for them, are opened anew; headers that can't be read stay as they were, which was logged. */
void k2i_otlp_peer_renew(struct k2i_otlp_peer *peer);
/* -ECANCELED `stop` is readable: it is not known what became of the request. */
int k2i_otlp_peer_post(struct k2i_otlp_peer *peer, const struct k2i_otlp_request *request, int stop,
		       struct k2i_otlp_answer *answer);

/* headers.c: what OTLP_HEADERS and OTLP_HEADERS_FILE say, behind those of `list`. The error was logged. */
struct curl_slist;
int k2i_otlp_headers_add(const struct k2i_settings *settings, struct curl_slist **list);
/* answer.c: the body of an answer with status 2xx, and of others; the reason is the peer's, "" if it has none. */
void k2i_otlp_answer_success(const uint8_t *body, size_t bytes, struct k2i_otlp_answer *answer);
void k2i_otlp_answer_error(const uint8_t *body, size_t bytes, char reason[K2I_REMOTE_REASON_BYTES]);

#endif
