/* SPDX-License-Identifier: MIT */
#include "receiver/listen/secure.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "net/tls/tls.h"

struct k2i_secure {
	struct k2i_tls_settings settings;
	pthread_mutex_t mutex; /* guards the context */
	struct k2i_tls_context *context;
};

static int files_read(const struct k2i_tls_settings *settings, struct k2i_tls_context **context, const char *otherwise)
{
	struct k2i_tls_problem problem;
	int error = k2i_tls_context_open(settings, context, &problem);

	if (error)
		k2i_log(K2HFT_LOG_ERROR, "receiver: TLS: %s%s", problem.text[0] ? problem.text : "no memory",
			otherwise);
	return error;
}

int k2i_secure_open(const struct k2i_settings *settings, struct k2i_secure **secure)
{
	struct k2i_tls_settings tls;
	struct k2i_secure *opened;
	int error;

	*secure = NULL;
	if (!k2i_settings_tls(settings, true, &tls))
		return 0;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->settings = tls;
	error = files_read(&tls, &opened->context, "");
	if (error) {
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

void k2i_secure_reload(struct k2i_secure *secure)
{
	struct k2i_tls_context *context, *former;

	if (!secure || files_read(&secure->settings, &context, "; what was read before is used"))
		return;
	(void)pthread_mutex_lock(&secure->mutex);
	former = secure->context;
	secure->context = context;
	(void)pthread_mutex_unlock(&secure->mutex);
	k2i_tls_context_release(former);
	k2i_log(K2HFT_LOG_INFO, "receiver: TLS: new connections use the files as they are now");
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
