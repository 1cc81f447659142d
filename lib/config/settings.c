/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/path.h"
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

struct k2i_place k2i_settings_key_place(const struct k2i_settings *settings, enum k2i_section section, const char *key)
{
	static const struct k2i_place unsaid;

	return settings->places ? settings->places->keys[k2i_setting_find(section, key) - k2i_settings_table] : unsaid;
}

const char *k2i_settings_place(const struct k2i_settings *settings, enum k2i_section section, const char *key,
			       char *text, size_t room)
{
	struct k2i_place place = k2i_settings_key_place(settings, section, key);

	if (place.file && place.line)
		(void)snprintf(text, room, "%s:%u", place.file, place.line);
	else
		(void)snprintf(text, room, "%s", settings->file);
	return text;
}

void k2i_checker_find(struct k2i_checker *checker, enum k2i_finding finding, struct k2i_place place, const char *format,
		      ...)
{
	char text[5000];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	checker->errors += finding == K2I_FINDING_ERROR;
	checker->report(checker->argument, finding, place.file ? place.file : checker->settings->file, place.line,
			text);
}

const struct k2i_node *k2i_settings_node(const struct k2i_settings *settings, bool server)
{
	static const struct k2i_node none;

	return settings->server_count ? &settings->servers[server ? settings->own_server : 0] : &none;
}

unsigned k2i_node_port(const struct k2i_settings *settings, const struct k2i_node *node)
{
	return node->port ? node->port : settings->port;
}

unsigned k2i_settings_port(const struct k2i_settings *settings, bool server)
{
	return k2i_node_port(settings, k2i_settings_node(settings, server));
}

unsigned k2i_settings_control_port(const struct k2i_settings *settings)
{
	unsigned port = k2i_settings_node(settings, true)->control_port;

	return port ? port : settings->control_port;
}

static enum k2i_ssl node_ssl(const struct k2i_settings *settings, const struct k2i_node *node)
{
	return node->ssl != K2I_SSL_UNSET ? node->ssl : settings->ssl;
}

enum k2i_ssl k2i_settings_ssl(const struct k2i_settings *settings, bool server)
{
	return node_ssl(settings, k2i_settings_node(settings, server));
}

bool k2i_sender_node_has_tls(const struct k2i_sender_node *node)
{
	return node->tls.authority || node->tls.sender_certificate || node->tls.sender_private_key;
}

/* SLVNODE has what is a sender's own; a file with two such sections is refused. */
static const struct k2i_tls_keys *own_keys(const struct k2i_settings *settings, bool server)
{
	static const struct k2i_tls_keys none;

	for (size_t number = 0; !server && number < settings->sender_count; number++)
		if (k2i_sender_node_has_tls(&settings->senders[number]))
			return &settings->senders[number].tls;
	return &none;
}

static const char *chosen(const char *own, const char *of_node, const char *of_all)
{
	const char *path = own ? own : of_node ? of_node : of_all;

	return path && strcasecmp(path, K2I_FILE_NONE) != 0 ? path : NULL;
}

bool k2i_node_tls(const struct k2i_settings *settings, const struct k2i_node *of, bool server,
		  struct k2i_tls_settings *tls)
{
	const struct k2i_tls_keys *node = &of->tls, *all = &settings->tls, *own = own_keys(settings, server);

	*tls = (struct k2i_tls_settings){
		.server = server,
		.verify_peer = (node->verify_peer != K2I_SSL_UNSET ? node : all)->verify_peer == K2I_SSL_YES,
		.version_min = settings->tls_version_min,
		.authority = chosen(own->authority, node->authority, all->authority),
		.certificate =
			server ? chosen(NULL, node->server_certificate, all->server_certificate)
			       : chosen(own->sender_certificate, node->sender_certificate, all->sender_certificate),
		.private_key =
			server ? chosen(NULL, node->server_private_key, all->server_private_key)
			       : chosen(own->sender_private_key, node->sender_private_key, all->sender_private_key),
		.shared_key = chosen(NULL, node->shared_key, all->shared_key),
	};
	return node_ssl(settings, of) == K2I_SSL_YES;
}

bool k2i_settings_tls(const struct k2i_settings *settings, bool server, struct k2i_tls_settings *tls)
{
	return k2i_node_tls(settings, k2i_settings_node(settings, server), server, tls);
}

/* A file that is not there yet has its directory, or the one above. */
static bool leads_below(const char *path, const char *directory)
{
	char at[PATH_MAX], resolved[PATH_MAX], *slash = at;

	(void)snprintf(at, sizeof(at), "%s", path);
	while (!realpath(at, resolved)) {
		slash = strrchr(at, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return k2i_path_below(resolved, directory);
}

static const char *tls_below(const struct k2i_settings *settings, const struct k2i_node *node, const char *mount_point)
{
	struct k2i_tls_settings tls;

	if (!k2i_node_tls(settings, node, false, &tls))
		return NULL;
	const char *const files[] = {tls.authority, tls.certificate, tls.private_key, tls.shared_key};

	for (size_t number = 0; number < sizeof(files) / sizeof(files[0]); number++)
		if (files[number] && leads_below(files[number], mount_point))
			return files[number];
	return NULL;
}

const char *k2i_settings_below(const struct k2i_settings *settings, const char *mount_point)
{
	const char *below = NULL;

	if (settings->queue_file && leads_below(settings->queue_file, mount_point))
		return settings->queue_file;
	if (settings->archive_file && leads_below(settings->archive_file, mount_point))
		return settings->archive_file;
	for (size_t number = 0; number < settings->server_count && !below; number++)
		below = tls_below(settings, &settings->servers[number], mount_point);
	return below;
}

bool k2i_settings_state_ends(const struct k2i_settings *settings)
{
	return settings->outputs == K2I_OUTPUT_RELAY && settings->relay.queue_type != K2I_QUEUE_FILE &&
	       !settings->base_directory && !settings->state_directory;
}

/* Keys that a reload takes; any other that one of the two programs heeds needs a restart. */
static const char *const taken_by_both[] = {"SSL_VERIFY_PEER", "SSL_MIN_VER", "CAPATH", "PSKFILE", NULL};
static const char *const taken_by_receiver[] = {"TRANSCONF", "SERVER_CERT", "SERVER_PRIKEY", "FILE_SYNC",
						"FILE_SYNC_MS", "CONNMAX", "CONNMAXHOST", "STREAMMAX", "BUFFERMAX",
						"WINDOW", "FRAMEMAX", "QUARANTINEMAX",
						/* Those of a sender. */
						"SLAVE_CERT", "SLAVE_PRIKEY", "DELIVERMODE", "REPLICA", NULL};
/* Without a PLUGIN. */
static const char *const taken_by_files[] = {
	"FILE_UNIFY",  "FILE_MODE",   "FORMAT",      "FILE_TIMEFORM",   "WRITEBUF",   "OPENMODE", "CACHE",
	"ROTATE_SIZE", "ROTATE_TIME", "ROTATE_KEEP", "ROTATE_COMPRESS", "POSTROTATE", NULL};
static const char *const taken_by_mount[] = {
	"PORT", "SLAVE_CERT", "SLAVE_PRIKEY", "SSL", "K2HTPDTOR_CHMPXCONF", "K2HINIT", "RINGFULL", "WRITEMODE",
	"FILE_MODE", "FLUSHMS", "LINEMAX", "HELDMAX", "TRANSLINECNT", "BYTELIMIT", "EXPIRE", "COMPRESS", "DRAINTIMEOUT",
	"RELOAD",
	/* Those of a receiver. */
	"CTLPORT", "SELFCTLPORT", "SELFCUK", "CUK", "SERVER_CERT", "SERVER_PRIKEY", "SOCKTHREADCNT", NULL};

/* Keys of TRANSCONF that a relay takes, or does not go by; those of TLS are compared node by node. */
static const char *const taken_by_relay[] = {"PORT",
					     "SLAVE_CERT",
					     "SLAVE_PRIKEY",
					     "SSL",
					     "K2HTPDTOR_CHMPXCONF",
					     "CTLPORT",
					     "EXPIRE",
					     "RINGFULL",
					     "WRITEMODE",
					     "FILE_MODE",
					     "FLUSHMS",
					     "LINEMAX",
					     "HELDMAX",
					     "BYTELIMIT",
					     "DRAINTIMEOUT",
					     "RELOAD",
					     "SELFCTLPORT",
					     "SELFCUK",
					     "CUK",
					     "SERVER_CERT",
					     "SERVER_PRIKEY",
					     "SOCKTHREADCNT",
					     NULL};
static const char *const *const taken_by[] = {[K2I_RELOADS_MOUNT] = taken_by_mount,
					      [K2I_RELOADS_RECEIVER] = taken_by_receiver,
					      [K2I_RELOADS_RELAY] = taken_by_relay};

static bool names_have(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* The struct that a program has of a section; NULL: it is the other's, or is compared otherwise. */
static const void *program_object(const struct k2i_settings *settings, enum k2i_section section, bool server)
{
	if (section == K2I_SECTION_SVRNODE)
		return server ? k2i_settings_node(settings, server) : NULL;
	if (server)
		return section == K2I_SECTION_GLOBAL || section == K2I_SECTION_K2HFTFUSESVR ? settings : NULL;
	return section == K2I_SECTION_GLOBAL || section == K2I_SECTION_K2HFTFUSE || section == K2I_SECTION_K2HTPDTOR
		       ? settings
		       : NULL;
}

/* A port is one, whichever section says it. */
static bool setting_same(const struct k2i_setting *setting, const struct k2i_settings *before,
			 const struct k2i_settings *after, bool server)
{
	if (setting->section == K2I_SECTION_GLOBAL && strcmp(setting->name, "PORT") == 0)
		return k2i_settings_port(before, server) == k2i_settings_port(after, server);
	if (setting->section == K2I_SECTION_SVRNODE && strcmp(setting->name, "PORT") == 0)
		return true;
	return k2i_value_same(setting, program_object(before, setting->section, server),
			      program_object(after, setting->section, server));
}

static void name_add(char *names, size_t room, const char *name)
{
	size_t bytes = strlen(names);

	(void)snprintf(names + bytes, room - bytes, "%s%s", bytes ? ", " : "", name);
}

size_t k2i_settings_restart(const struct k2i_settings *before, const struct k2i_settings *after,
			    enum k2i_reloads reloads, char *names, size_t names_room, char *place, size_t place_room)
{
	const bool server = reloads == K2I_RELOADS_RECEIVER;
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;
	size_t count = 0;

	*names = '\0';
	for (; setting < end; setting++) {
		if (!program_object(before, setting->section, server) || setting->effect != K2I_EFFECT_SETTING ||
		    names_have(taken_by_both, setting->name) || names_have(taken_by[reloads], setting->name) ||
		    (!before->plugin && names_have(taken_by_files, setting->name)) ||
		    (before->plugin && after->plugin && strcmp(setting->name, "PLUGIN") == 0) ||
		    setting_same(setting, before, after, server))
			continue;
		if (count++ == 0 && setting->section == K2I_SECTION_SVRNODE &&
		    k2i_settings_node(after, server)->place.file)
			(void)snprintf(place, place_room, "%s:%u", k2i_settings_node(after, server)->place.file,
				       k2i_settings_node(after, server)->place.line);
		else if (count == 1)
			k2i_settings_place(after, setting->section, setting->name, place, place_room);
		name_add(names, names_room, setting->name);
	}
	return count;
}

static void patterns_free(struct k2i_pattern *patterns, size_t count)
{
	size_t number;

	for (number = 0; number < count; number++)
		free(patterns[number].text);
	free(patterns);
}

void k2i_settings_nodes_clear(struct k2i_settings *settings)
{
	size_t number;

	for (number = 0; number < settings->server_count; number++)
		k2i_values_clear(K2I_SECTION_SVRNODE, &settings->servers[number]);
	for (number = 0; number < settings->sender_count; number++)
		k2i_values_clear(K2I_SECTION_SLVNODE, &settings->senders[number]);
	settings->server_count = settings->sender_count = 0;
	k2i_values_clear(K2I_SECTION_GLOBAL, settings);
}

void k2i_settings_free(struct k2i_settings *settings)
{
	size_t number;

	if (!settings)
		return;
	k2i_settings_nodes_clear(settings);
	free(settings->servers);
	free(settings->senders);
	for (number = 0; number < settings->rule_count; number++) {
		patterns_free(settings->rules[number].allow, settings->rules[number].allow_count);
		patterns_free(settings->rules[number].deny, settings->rules[number].deny_count);
		k2i_values_clear(K2I_SECTION_K2HFTFUSE_RULE, &settings->rules[number]);
	}
	free(settings->rules);
	k2i_values_clear(K2I_SECTION_K2HTPDTOR, settings);
	for (number = 0; number < settings->except_count; number++)
		free(settings->except[number]);
	free(settings->except);
	k2i_values_clear(K2I_SECTION_K2HFTFUSE, settings);
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, settings);
	for (number = 0; number < settings->included_count; number++)
		free(settings->included[number]);
	free(settings->included);
	free(settings->places);
	free(settings->file);
	free(settings);
}
