/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "client/state.h"

#define CERTIFICATE_LOOK_NS (60 * K2I_SECOND_NS)

static int path_copy(const char *path, const char **copy)
{
	if (!path)
		return 0;
	*copy = strdup(path);
	return *copy ? 0 : -ENOMEM;
}

static int settings_take(struct k2i_tls_settings *settings, const struct k2hft_tls_options *options)
{
	int error = path_copy(options->authority_path, &settings->authority);

	settings->version_min = options->version_min;
	if (error == 0)
		error = path_copy(options->certificate_path, &settings->certificate);
	if (error == 0)
		error = path_copy(options->private_key_path, &settings->private_key);
	return error ? error : path_copy(options->shared_key_path, &settings->shared_key);
}

static bool same_path(const char *own, const char *given)
{
	return own && given ? strcmp(own, given) == 0 : own == given;
}

static bool settings_match(const struct k2i_tls_settings *settings, const struct k2hft_tls_options *options)
{
	return settings->version_min == options->version_min &&
	       same_path(settings->authority, options->authority_path) &&
	       same_path(settings->certificate, options->certificate_path) &&
	       same_path(settings->private_key, options->private_key_path) &&
	       same_path(settings->shared_key, options->shared_key_path);
}

/* Its own part of the list, so that what it has got is freed with that, whatever fails. */
static int tls_open(struct k2i_client_tls *tls, const struct k2hft_tls_options *options)
{
	struct k2i_tls_problem problem;
	int error = settings_take(&tls->settings, options);

	if (error < 0)
		return error;
	error = k2i_tls_context_open(&tls->settings, &tls->context, &problem);
	if (error == -EINVAL)
		k2i_log(K2HFT_LOG_ERROR, "client: TLS: %s", problem.text);
	if (tls->settings.private_key && k2i_tls_private_key_exposed(tls->settings.private_key))
		k2i_log(K2HFT_LOG_WARNING, "client: TLS: other users have access to the private key %s: chmod 600",
			tls->settings.private_key);
	return error;
}

int k2i_client_tls_find(struct k2i_client_tls **list, const struct k2hft_tls_options *options,
			struct k2i_client_tls **found)
{
	struct k2hft_tls_options known;
	struct k2i_client_tls *tls = *list;
	int error = k2i_options_copy(&known, sizeof(known), options);

	if (error < 0)
		return error;
	while (tls && !settings_match(&tls->settings, &known))
		tls = tls->next;
	*found = tls;
	if (tls)
		return 0;
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return -ENOMEM;
	tls->next = *list;
	*found = *list = tls;
	return tls_open(tls, &known);
}

void k2i_client_tls_end(struct k2i_client_tls *list)
{
	for (; list; list = list->next) {
		k2i_tls_context_release(list->context);
		list->context = NULL;
	}
}

void k2i_client_tls_free(struct k2i_client_tls *list)
{
	k2i_client_tls_end(list);
	while (list) {
		struct k2i_client_tls *next = list->next;

		free((char *)list->settings.authority);
		free((char *)list->settings.certificate);
		free((char *)list->settings.private_key);
		free((char *)list->settings.shared_key);
		free(list);
		list = next;
	}
}

/* Files are read for each connection: certificates and keys are renewed without a restart. */
static void files_read(struct k2i_client_tls *tls, uint64_t now_ns)
{
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem = {.text = "the certificates that the system trusts are not there"};
	bool system_gone = !tls->settings.authority && !tls->settings.shared_key && !k2i_tls_system_trusts();

	/*
	 * OpenSSL does not report missing system certificates, it only trusts nobody. After chroot(2), for example, the
	 * certificates that were read before still hold.
	 */
	if (!system_gone && k2i_tls_context_open(&tls->settings, &context, &problem) == 0) {
		k2i_tls_context_release(tls->context);
		tls->context = context;
	} else {
		k2i_log_limited(&tls->limit, now_ns, K2HFT_LOG_WARNING, "client: TLS: %s; what was read before is used",
				problem.text[0] ? problem.text : "no memory");
	}
}

int k2i_client_tls_begin(struct k2i_client_tls *tls, struct k2i_transport *transport, const char *host, uint64_t now_ns)
{
	files_read(tls, now_ns);
	return k2i_transport_secure(transport, tls->context, host);
}

/* A certificate can be renewed while a connection holds, which does not read it again. */
void k2i_client_certificate_look(struct k2hft_client *client, uint64_t now_ns)
{
	const struct k2i_client_tls *tls = client->dial.target->tls;
	uint64_t expires_s;

	if (!tls || !tls->settings.certificate || now_ns < client->targets.look_ns)
		return;
	client->targets.look_ns = now_ns + CERTIFICATE_LOOK_NS;
	expires_s = k2i_tls_certificate_file_expires_s(tls->settings.certificate);
	/* A file that can't be read leaves what was read before in use. */
	if (expires_s)
		client->stats.certificate_expires_s = expires_s;
}
