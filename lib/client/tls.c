/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/state.h"
#include "base/clock.h"
#include "base/options.h"
#include "ring/handle.h"

/*
 * OpenSSL takes itself apart when a program that has begun to use it before this library ends, and waits for no thread:
 * clients that have one must be done with it then.
 */
#define END_WAIT_NS (2 * K2I_SECOND_NS) /* all together, for what was written until then */
#define CERTIFICATE_LOOK_NS (60 * K2I_SECOND_NS)
static pthread_mutex_t users_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct k2hft_client *users;

static void users_lock(void)
{
	(void)pthread_mutex_lock(&users_mutex);
}

static void users_unlock(void)
{
	(void)pthread_mutex_unlock(&users_mutex);
}

/*
 * A child of fork(2) has neither the threads nor a say in the connections. Its pid need not tell: it is that of its parent if
 * both are the first of their namespaces.
 */
static void users_forget(void)
{
	users = NULL;
	users_unlock();
}

static void user_end(struct k2hft_client *client, uint64_t deadline_ns)
{
	struct k2hft_client_stats stats = {.size = sizeof(stats)};
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / K2I_MILLISECOND_NS) : 0;

	/* The pid: a child of clone(2) has forgotten nothing. relaxed: who ends starts none. */
	if (!atomic_load_explicit(&client->thread_runs, memory_order_relaxed) ||
	    client->ring->process.owner >> 32 != (uint64_t)getpid())
		return;
	if (k2hft_client_stats(client, &stats) == 0 && stats.state == K2HFT_CLIENT_CONNECTED)
		(void)k2hft_client_drain(client, left_ms);
	k2i_client_waits_end(client);
	k2i_client_thread_stop(client);
	k2i_client_bye(client);
	k2i_tls_context_release(client->tls_context);
	client->tls_context = NULL;
	k2i_client_fail(client);
}

static void users_end(void)
{
	uint64_t deadline_ns = k2i_clock_ns(CLOCK_MONOTONIC) + END_WAIT_NS;

	users_lock();
	for (; users; users = users->tls_next)
		user_end(users, deadline_ns);
	users_unlock();
}

static void users_prepare(void)
{
	(void)pthread_atfork(users_lock, users_unlock, users_forget);
	k2i_tls_at_end(users_end);
}

static void user_add(struct k2hft_client *client)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, users_prepare);
	users_lock();
	client->tls_next = users;
	users = client;
	users_unlock();
}

void k2i_client_tls_leave(struct k2hft_client *client)
{
	struct k2hft_client **place = &users;

	users_lock();
	while (*place && *place != client)
		place = &(*place)->tls_next;
	if (*place)
		*place = client->tls_next;
	users_unlock();
}

static int path_copy(const char *path, const char **copy)
{
	if (!path)
		return 0;
	*copy = strdup(path);
	return *copy ? 0 : -ENOMEM;
}

int k2i_client_tls_check(const struct k2hft_tls_options *options)
{
	struct k2hft_tls_options known;
	int error = options ? k2i_options_copy(&known, sizeof(known), options) : 0;

	if (!options || error < 0)
		return error;
	if (known.version_min > K2HFT_TLS_1_3)
		return k2i_option_refuse("version_min of tls = %u is not known", known.version_min);
	if (known.reserved)
		return k2i_option_refuse("reserved of tls = %u is not 0", known.reserved);
	/* One without the other does nothing, and a shared key does without all of them. */
	if (!known.certificate_path != !known.private_key_path)
		return k2i_option_refuse("certificate_path and private_key_path need each other");
	if (known.shared_key_path && (known.certificate_path || known.authority_path))
		return k2i_option_refuse("shared_key_path stands instead of certificate_path and authority_path");
	return 0;
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
	client->secure = true;
	int error = k2i_options_copy(&known, sizeof(known), options);
	if (error == 0)
		error = settings_take(&client->tls, &known);
	if (error < 0)
		return error;
	error = k2i_tls_context_open(&client->tls, &client->tls_context, &problem);
	if (error == 0)
		user_add(client);
	if (error == -EINVAL)
		k2i_log(K2HFT_LOG_ERROR, "client: TLS: %s", problem.text);
	if (client->tls.private_key && k2i_tls_private_key_exposed(client->tls.private_key))
		k2i_log(K2HFT_LOG_WARNING, "client: TLS: other users have access to the private key %s: chmod 600",
			client->tls.private_key);
	return error;
}

void k2i_client_tls_free(struct k2hft_client *client)
{
	k2i_client_tls_leave(client);
	k2i_tls_context_release(client->tls_context);
	free((char *)client->tls.authority);
	free((char *)client->tls.certificate);
	free((char *)client->tls.private_key);
	free((char *)client->tls.shared_key);
}

/* So that certificates and keys are renewed without a restart. */
static void files_read(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem = {.text = "the certificates that the system trusts are not there"};
	bool system_gone = !client->tls.authority && !client->tls.shared_key && !k2i_tls_system_trusts();

	/* OpenSSL says nothing of that, and trusts nobody. In a new root, say, what was read before is better. */
	if (!system_gone && k2i_tls_context_open(&client->tls, &context, &problem) == 0) {
		k2i_tls_context_release(client->tls_context);
		client->tls_context = context;
	} else {
		k2i_log_limited(&client->tls_limit, now_ns, K2HFT_LOG_WARNING,
				"client: TLS: %s; what was read before is used",
				problem.text[0] ? problem.text : "no memory");
	}
}

int k2i_client_tls_begin(struct k2hft_client *client, uint64_t now_ns)
{
	files_read(client, now_ns);
	client->certificate_look_ns = 0;
	return k2i_transport_secure(&client->transport, client->tls_context, client->host);
}

/* A connection can hold for longer than a certificate, which is renewed meanwhile. */
void k2i_client_certificate_look(struct k2hft_client *client, uint64_t now_ns)
{
	uint64_t expires_s;

	if (!client->tls.certificate || now_ns < client->certificate_look_ns)
		return;
	client->certificate_look_ns = now_ns + CERTIFICATE_LOOK_NS;
	expires_s = k2i_tls_certificate_file_expires_s(client->tls.certificate);
	/* A file that can't be read leaves what was read before in use. */
	if (expires_s)
		client->stats.certificate_expires_s = expires_s;
}
