/* SPDX-License-Identifier: MIT */
#include "receiver/listen/secure.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "net/tls/tls.h"

struct k2i_secure {
	pthread_mutex_t mutex; /* guards the context */
	struct k2i_tls_context *context;
	struct k2i_tls_context *prepared;
};

int k2i_secure_open(const struct k2i_settings *settings, struct k2i_secure **secure)
{
	struct k2i_tls_settings tls;
	struct k2i_tls_problem problem;
	struct k2i_secure *opened;
	int error;

	*secure = NULL;
	if (!k2i_settings_tls(settings, true, &tls))
		return 0;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	error = k2i_tls_context_open(&tls, &opened->context, &problem);
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: TLS: %s", problem.text[0] ? problem.text : "no memory");
		free(opened);
		return error;
	}
	(void)pthread_mutex_init(&opened->mutex, NULL);
	*secure = opened;
	return 0;
}

void k2i_secure_free(struct k2i_secure *secure)
{
	if (!secure)
		return;
	k2i_tls_context_release(secure->context);
	(void)pthread_mutex_destroy(&secure->mutex);
	free(secure);
}

int k2i_secure_prepare(struct k2i_secure *secure, const struct k2i_settings *settings, char *message,
		       size_t message_room)
{
	struct k2i_tls_problem problem;
	struct k2i_tls_settings tls;
	int error = 0;

	if (secure && k2i_settings_tls(settings, true, &tls))
		error = k2i_tls_context_open(&tls, &secure->prepared, &problem);
	if (error)
		(void)snprintf(message, message_room, "%s: TLS: %s", settings->file,
			       problem.text[0] ? problem.text : "no memory");
	return error;
}

void k2i_secure_change(struct k2i_secure *secure, bool take)
{
	struct k2i_tls_context *former;

	if (!secure || !secure->prepared)
		return;
	(void)pthread_mutex_lock(&secure->mutex);
	former = take ? secure->context : secure->prepared;
	if (take)
		secure->context = secure->prepared;
	secure->prepared = NULL;
	(void)pthread_mutex_unlock(&secure->mutex);
	k2i_tls_context_release(former);
}

struct k2i_tls_context *k2i_secure_context(struct k2i_secure *secure)
{
	struct k2i_tls_context *context;

	(void)pthread_mutex_lock(&secure->mutex);
	context = k2i_tls_context_hold(secure->context);
	(void)pthread_mutex_unlock(&secure->mutex);
	return context;
}

uint64_t k2i_secure_expires_s(struct k2i_secure *secure)
{
	struct k2i_tls_context *context = secure ? k2i_secure_context(secure) : NULL;
	uint64_t expires_s = context ? k2i_tls_certificate_expires_s(context) : 0;

	k2i_tls_context_release(context);
	return expires_s;
}
