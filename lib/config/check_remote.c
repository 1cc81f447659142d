/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/remote.h"
#include "config/table.h"
#include "net/tls/tls.h"

/* Where the key is said, or else the section. */
static struct k2i_place place(const struct k2i_checker *checker, const char *key)
{
	struct k2i_place at = k2i_settings_key_place(checker->settings, K2I_SECTION_K2HFTFUSESVR, key);

	return at.file ? at : checker->settings->places->sections[K2I_SECTION_K2HFTFUSESVR];
}

static void find(struct k2i_checker *checker, const char *key, const char *text)
{
	k2i_checker_find(checker, K2I_FINDING_ERROR, place(checker, key), "%s", text);
}

static void find_file(struct k2i_checker *checker, const char *key, const char *file, const char *why)
{
	if (why)
		k2i_checker_find(checker, K2I_FINDING_ERROR, place(checker, key), "%s: %s: %s", key, file, why);
}

/* None is said, or a path that has its error already. */
static bool none(const char *file)
{
	return !file || *file != '/';
}

static void check_secret(struct k2i_checker *checker, const char *key, const char *file)
{
	char secret[K2I_SECRET_BYTES_MAX];

	if (!none(file))
		find_file(checker, key, file, k2i_secret_line_read(file, secret));
	explicit_bzero(secret, sizeof(secret));
}

static void check_headers(struct k2i_checker *checker, const char *key, const char *file)
{
	char *text = none(file) ? NULL : malloc(K2I_HEADERS_BYTES_MAX), *rest = text, *line, *name, *value;
	const char *why;

	if (!text)
		return;
	why = k2i_secret_read(file, text, K2I_HEADERS_BYTES_MAX);
	while (!why && (line = k2i_header_line(&rest)) != NULL)
		why = k2i_header_split(line, &name, &value);
	find_file(checker, key, file, why);
	explicit_bzero(text, K2I_HEADERS_BYTES_MAX);
	free(text);
}

/* `keys`: by enum k2i_tls_part. */
static void check_files(struct k2i_checker *checker, const char *const keys[3], const char *authority,
			const char *certificate, const char *private_key)
{
	const struct k2i_tls_settings tls = {.version_min = K2HFT_TLS_1_2,
					     .authority = none(authority) ? NULL : authority,
					     .certificate = none(private_key) ? NULL : certificate,
					     .private_key = none(certificate) ? NULL : private_key};
	struct k2i_tls_context *context = NULL;
	struct k2i_tls_problem problem;

	/* Memory that is short is no mistake of the file. */
	if (k2i_tls_context_open(&tls, &context, &problem) == -EINVAL)
		k2i_checker_find(checker, K2I_FINDING_ERROR, place(checker, keys[problem.part]), "%s: %s",
				 keys[problem.part], problem.text);
	k2i_tls_context_release(context);
}

static void check_forward(struct k2i_checker *checker)
{
	static const char *const keys[] = {"FORWARD_CA", "FORWARD_CA", "FORWARD_CA"};
	const struct k2i_settings *settings = checker->settings;

	if (!settings->forward_server)
		find(checker, "TYPE", "TYPE = forward needs FORWARD_SERVER: where records go");
	if (settings->forward_user && (!settings->forward_key_file || !settings->forward_password_file))
		find(checker, "FORWARD_USERNAME",
		     "FORWARD_USERNAME needs FORWARD_SHARED_KEY_FILE and FORWARD_PASSWORD_FILE");
	check_secret(checker, "FORWARD_SHARED_KEY_FILE", settings->forward_key_file);
	check_secret(checker, "FORWARD_PASSWORD_FILE", settings->forward_password_file);
	if (settings->forward_tls)
		check_files(checker, keys, settings->forward_authority, NULL, NULL);
}

static void check_otlp(struct k2i_checker *checker)
{
	static const char *const keys[] = {"OTLP_CA", "OTLP_CERT", "OTLP_KEY"};
	const struct k2i_settings *settings = checker->settings;

	if (!settings->otlp_endpoint)
		find(checker, "TYPE", "TYPE = otlp needs OTLP_ENDPOINT: where records go, as http://HOST:4318");
	if (!settings->otlp_certificate != !settings->otlp_private_key)
		find(checker, settings->otlp_private_key ? "OTLP_KEY" : "OTLP_CERT",
		     "OTLP_CERT and OTLP_KEY need each other");
	check_headers(checker, "OTLP_HEADERS_FILE", settings->otlp_headers_file);
	if (settings->otlp_endpoint && strncasecmp(settings->otlp_endpoint, "https:", 6) == 0)
		check_files(checker, keys, settings->otlp_authority, settings->otlp_certificate,
			    settings->otlp_private_key);
}

void k2i_settings_remote_check(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;

	if (settings->outputs & K2I_OUTPUT_FORWARD)
		check_forward(checker);
	if (settings->outputs & K2I_OUTPUT_OTLP)
		check_otlp(checker);
	if (settings->outputs & K2I_OUTPUT_KAFKA && (!settings->kafka_brokers || !settings->kafka_topic))
		find(checker, "TYPE", "TYPE = kafka needs KAFKA_BROKERS and KAFKA_TOPIC");
}
