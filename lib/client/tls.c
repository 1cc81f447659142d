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

int k2i_client_tls_open(struct k2hft_client *client, const struct k2hft_tls_options *options)
{
	struct k2hft_tls_options known;
	struct k2i_tls_problem problem;

	if (!options)
		return 0;
	client->tls.secure = true;
	int error = k2i_options_copy(&known, sizeof(known), options);
	if (error == 0)
		error = settings_take(&client->tls.settings, &known);
	if (error < 0)
		return error;
	error = k2i_tls_context_open(&client->tls.settings, &client->tls.context, &problem);
	if (error == -EINVAL)
		k2i_log(K2HFT_LOG_ERROR, "client: TLS: %s", problem.text);
	if (client->tls.settings.private_key && k2i_tls_private_key_exposed(client->tls.settings.private_key))
		k2i_log(K2HFT_LOG_WARNING, "client: TLS: other users have access to the private key %s: chmod 600",
			client->tls.settings.private_key);
	return error;
}

void k2i_client_tls_end(struct k2hft_client *client)
{
	k2i_tls_context_release(client->tls.context);
	client->tls.context = NULL;
}

void k2i_client_tls_free(struct k2hft_client *client)
{
	k2i_tls_context_release(client->tls.context);
	free((char *)client->tls.settings.authority);
	free((char *)client->tls.settings.certificate);
	free((char *)client->tls.settings.private_key);
	free((char *)client->tls.settings.shared_key);
}

/* Files are read for each connection: certificates and keys are renewed without a restart. */
static void files_read(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem = {.text = "the certificates that the system trusts are not there"};
	bool system_gone =
		!client->tls.settings.authority && !client->tls.settings.shared_key && !k2i_tls_system_trusts();

	/*
	 * OpenSSL does not report missing system certificates, it only trusts nobody. After chroot(2), for example, the
	 * certificates that were read before still hold.
	 */
	if (!system_gone && k2i_tls_context_open(&client->tls.settings, &context, &problem) == 0) {
		k2i_tls_context_release(client->tls.context);
		client->tls.context = context;
	} else {
		k2i_log_limited(&client->tls.limit, now_ns, K2HFT_LOG_WARNING,
				"client: TLS: %s; what was read before is used",
				problem.text[0] ? problem.text : "no memory");
	}
}

int k2i_client_tls_begin(struct k2hft_client *client, uint64_t now_ns)
{
	files_read(client, now_ns);
	client->tls.look_ns = 0;
	return k2i_transport_secure(&client->transport, client->tls.context, client->host);
}

/* A certificate can be renewed while a connection holds, which does not read it again. */
void k2i_client_certificate_look(struct k2hft_client *client, uint64_t now_ns)
{
	uint64_t expires_s;

	if (!client->tls.settings.certificate || now_ns < client->tls.look_ns)
		return;
	client->tls.look_ns = now_ns + CERTIFICATE_LOOK_NS;
	expires_s = k2i_tls_certificate_file_expires_s(client->tls.settings.certificate);
	/* A file that can't be read leaves what was read before in use. */
	if (expires_s)
		client->stats.certificate_expires_s = expires_s;
}
