/* SPDX-License-Identifier: MIT */
#include "sender/target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static const char *text_copy(const char *text, bool *enough)
{
	char *copy = text ? strdup(text) : NULL;

	*enough &= !text || copy;
	return copy;
}

/* The options were checked. */
static const struct k2hft_tls_options *tls_copy(const struct k2hft_tls_options *tls, bool *enough)
{
	struct k2hft_tls_options *copy = malloc(sizeof(*copy));

	*enough &= copy != NULL;
	if (!copy)
		return NULL;
	(void)k2i_options_copy(copy, sizeof(*copy), tls);
	copy->size = sizeof(*copy);
	copy->authority_path = text_copy(copy->authority_path, enough);
	copy->certificate_path = text_copy(copy->certificate_path, enough);
	copy->private_key_path = text_copy(copy->private_key_path, enough);
	copy->shared_key_path = text_copy(copy->shared_key_path, enough);
	return copy;
}

int k2i_target_copy(const struct k2hft_target *target, struct k2hft_target *copy)
{
	bool enough = true;

	*copy = (struct k2hft_target){
		.host = text_copy(target->host, &enough),
		.port = text_copy(target->port, &enough),
		.tls = target->tls ? tls_copy(target->tls, &enough) : NULL,
	};
	return enough ? 0 : -ENOMEM;
}

void k2i_target_free(struct k2hft_target *copy)
{
	if (copy->tls) {
		free((char *)copy->tls->authority_path);
		free((char *)copy->tls->certificate_path);
		free((char *)copy->tls->private_key_path);
		free((char *)copy->tls->shared_key_path);
		free((struct k2hft_tls_options *)copy->tls);
	}
	free((char *)copy->host);
	free((char *)copy->port);
}
