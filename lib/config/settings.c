/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <stdlib.h>
#include <strings.h>

#include "config/table.h"
#include "net/tls/tls.h"

const char *k2i_place_text(const struct k2i_place *place, const char *file, char *text, size_t room)
{
	if (place->file == file)
		(void)snprintf(text, room, "line %u", place->line);
	else
		(void)snprintf(text, room, "%s:%u", place->file, place->line);
	return text;
}

const char *k2i_settings_place(const struct k2i_settings *settings, const struct k2i_place *place, char *text,
			       size_t room)
{
	if (place->file && place->line)
		(void)snprintf(text, room, "%s:%u", place->file, place->line);
	else
		(void)snprintf(text, room, "%s", settings->file);
	return text;
}

unsigned k2i_settings_port(const struct k2i_settings *settings)
{
	return settings->server_count && settings->servers[0].port ? settings->servers[0].port : settings->port;
}

unsigned k2i_settings_control_port(const struct k2i_settings *settings)
{
	return settings->server_count && settings->servers[0].control_port ? settings->servers[0].control_port
									   : settings->control_port;
}

/* The result is a section that says nothing, if there is none. */
static const struct k2i_node *first_node(const struct k2i_settings *settings)
{
	static const struct k2i_node none;

	return settings->server_count ? &settings->servers[0] : &none;
}

enum k2i_ssl k2i_settings_ssl(const struct k2i_settings *settings)
{
	const struct k2i_node *node = first_node(settings);

	return node->ssl != K2I_SSL_UNSET ? node->ssl : settings->ssl;
}

static const char *chosen(const char *of_node, const char *of_all)
{
	const char *path = of_node ? of_node : of_all;

	return path && strcasecmp(path, K2I_FILE_NONE) != 0 ? path : NULL;
}

bool k2i_settings_tls(const struct k2i_settings *settings, bool server, struct k2i_tls_settings *tls)
{
	const struct k2i_tls_keys *node = &first_node(settings)->tls, *all = &settings->tls;

	*tls = (struct k2i_tls_settings){
		.server = server,
		.verify_peer = (node->verify_peer != K2I_SSL_UNSET ? node : all)->verify_peer == K2I_SSL_YES,
		.version_min = settings->tls_version_min,
		.authority = chosen(node->authority, all->authority),
		.certificate = server ? chosen(node->server_certificate, all->server_certificate)
				      : chosen(node->sender_certificate, all->sender_certificate),
		.private_key = server ? chosen(node->server_private_key, all->server_private_key)
				      : chosen(node->sender_private_key, all->sender_private_key),
		.shared_key = chosen(node->shared_key, all->shared_key),
	};
	return k2i_settings_ssl(settings) == K2I_SSL_YES;
}

static void patterns_free(struct k2i_pattern *patterns, size_t count)
{
	size_t number;

	for (number = 0; number < count; number++)
		free(patterns[number].text);
	free(patterns);
}

void k2i_settings_free(struct k2i_settings *settings)
{
	size_t number;

	if (!settings)
		return;
	for (number = 0; number < settings->server_count; number++)
		k2i_values_free(K2I_SECTION_SVRNODE, &settings->servers[number]);
	free(settings->servers);
	for (number = 0; number < settings->sender_count; number++)
		k2i_values_free(K2I_SECTION_SLVNODE, &settings->senders[number]);
	free(settings->senders);
	for (number = 0; number < settings->rule_count; number++) {
		patterns_free(settings->rules[number].allow, settings->rules[number].allow_count);
		patterns_free(settings->rules[number].deny, settings->rules[number].deny_count);
		k2i_values_free(K2I_SECTION_K2HFTFUSE_RULE, &settings->rules[number]);
	}
	free(settings->rules);
	k2i_values_free(K2I_SECTION_GLOBAL, settings);
	k2i_values_free(K2I_SECTION_K2HFTFUSE, settings);
	k2i_values_free(K2I_SECTION_K2HFTFUSESVR, settings);
	for (number = 0; number < settings->included_count; number++)
		free(settings->included[number]);
	free(settings->included);
	free(settings->file);
	free(settings);
}
