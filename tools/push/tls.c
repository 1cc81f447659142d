/* SPDX-License-Identifier: MIT */
#include "tools/push/push.h"

#include <string.h>

#include "net/tls/tls.h"

static int words_check(const struct push_options *options)
{
	if (options->config_file)
		push_error("--tls, --ca, --cert, --key and --psk go with -r; with -c the configuration says it");
	else if (!options->certificate != !options->private_key)
		push_error("--cert and --key need each other");
	else if (options->shared_key && (options->certificate || options->authority))
		push_error("--psk is instead of --ca, --cert and --key");
	else
		return STATUS_OK;
	return STATUS_WRONG;
}

int push_tls_take(struct push *push)
{
	const struct push_options *options = &push->options;
	const struct k2i_tls_settings settings = {
		.authority = options->authority,
		.certificate = options->certificate,
		.private_key = options->private_key,
		.shared_key = options->shared_key,
	};
	struct k2i_tls_context *context = NULL;
	struct k2i_tls_problem problem;
	int error;

	if (!options->tls)
		return STATUS_OK;
	if (words_check(options))
		return STATUS_WRONG;
	/* The client reads them again; here what is wrong with them gets its own message. */
	error = k2i_tls_context_open(&settings, &context, &problem);
	k2i_tls_context_release(context);
	if (error)
		return push_failed(STATUS_FAILED, "%s", problem.text[0] ? problem.text : strerror(-error));
	push->tls = (struct k2hft_tls_options){
		.size = sizeof(push->tls),
		.authority_path = options->authority,
		.certificate_path = options->certificate,
		.private_key_path = options->private_key,
		.shared_key_path = options->shared_key,
	};
	for (uint32_t at = 0; at < push->options.receiver_count; at++)
		push->targets[at].tls = &push->tls;
	return STATUS_OK;
}
