/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "receiver/sink/otlp/logs.pb-c.h"
#include "receiver/sink/otlp/peer.h"

static void text_copy(const ProtobufCBinaryData *text, char reason[K2I_REMOTE_REASON_BYTES])
{
	size_t bytes = text->len < K2I_REMOTE_REASON_BYTES ? text->len : K2I_REMOTE_REASON_BYTES - 1;

	if (bytes)
		memcpy(reason, text->data, bytes);
	reason[bytes] = '\0';
}

void k2i_otlp_answer_success(const uint8_t *body, size_t bytes, struct k2i_otlp_answer *answer)
{
	Otlp__Response *response = otlp__response__unpack(NULL, bytes, body);
	const Otlp__PartialSuccess *partial = response ? response->partial_success : NULL;

	answer->verdict = K2I_OTLP_STORED;
	answer->reason[0] = '\0';
	/* The status alone says that the peer has the records, so a body that can't be read changes nothing. */
	if (!response)
		(void)snprintf(answer->reason, sizeof(answer->reason), "its answer can't be read");
	if (partial)
		text_copy(&partial->error_message, answer->reason);
	if (partial && partial->rejected_log_records > 0) {
		answer->verdict = K2I_OTLP_REJECTED;
		answer->rejected = (uint64_t)partial->rejected_log_records;
	}
	if (response)
		otlp__response__free_unpacked(response, NULL);
}

void k2i_otlp_answer_error(const uint8_t *body, size_t bytes, char reason[K2I_REMOTE_REASON_BYTES])
{
	Otlp__Status *status = otlp__status__unpack(NULL, bytes, body);

	reason[0] = '\0';
	if (!status)
		return;
	text_copy(&status->message, reason);
	otlp__status__free_unpacked(status, NULL);
}
