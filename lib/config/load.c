/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "config/ini_read.h"
#include "config/table.h"
#include "config/yaml_read.h"

struct loader {
	struct k2i_checker checker; /* with the settings, and who is told */
	int status;                 /* -ENOMEM ends the reading */
	enum k2i_section section;
	unsigned section_number;
	struct k2i_place header;
	bool nodes_only;   /* the file of K2HTPDTOR_CHMPXCONF is read */
	unsigned *said_in; /* the section in which a key was said last; indexed as the table */
};

/* Paths of files live as long as the settings: rules and patterns name the file that they are from. */
static const char *file_keep(struct loader *loader, const char *file)
{
	struct k2i_settings *settings = loader->checker.settings;
	char **included, *copy;
	size_t number;

	if (strcmp(file, settings->file) == 0)
		return settings->file;
	for (number = 0; number < settings->included_count; number++)
		if (strcmp(file, settings->included[number]) == 0)
			return settings->included[number];
	included = reallocarray(settings->included, settings->included_count + 1, sizeof(*included));
	if (included)
		settings->included = included;
	copy = included ? strdup(file) : NULL;
	if (!copy) {
		loader->status = -ENOMEM;
		return settings->file;
	}
	return settings->included[settings->included_count++] = copy;
}

/* Adds an element, zeroed, at the end of an array. NULL: no memory. */
static void *array_add(struct loader *loader, void **array, size_t *count, size_t element_bytes)
{
	void *larger = reallocarray(*array, *count + 1, element_bytes);
	char *element;

	if (!larger) {
		loader->status = -ENOMEM;
		return NULL;
	}
	*array = larger;
	element = (char *)larger + *count * element_bytes;
	memset(element, 0, element_bytes);
	++*count;
	return element;
}

static void rule_add(struct loader *loader)
{
	struct k2i_settings *settings = loader->checker.settings;
	struct k2i_rule *rule =
		array_add(loader, (void **)&settings->rules, &settings->rule_count, sizeof(*settings->rules));

	if (!rule)
		return;
	rule->directory = loader->section == K2I_SECTION_K2HFTFUSE_RULE_DIR;
	rule->place = loader->header;
	rule->target = rule->directory ? strdup("") : NULL; /* the whole mount, if nothing else is said */
	if ((rule->directory && !rule->target) || k2i_values_default(loader->section, rule))
		loader->status = -ENOMEM;
}

static void once(struct loader *loader, bool *present)
{
	if (*present)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, loader->header, "a second [%s]; a file has one",
				 k2i_section_name(loader->section));
	*present = true;
}

/* A file can be shared with other programs that use CHMPX. */
static void section_unknown(struct loader *loader, const char *name)
{
	bool known = strcmp(name, "K2HTPDTORSVR") == 0 || strcmp(name, "K2HDKC") == 0;
	const char *nearest = known ? NULL : k2i_section_nearest(name);

	if (nearest)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, loader->header,
				 "unknown section [%s]; did you mean [%s]?", name, nearest);
	else
		k2i_checker_find(&loader->checker, known ? K2I_FINDING_WITHOUT_EFFECT : K2I_FINDING_WARNING,
				 loader->header, "[%s] has no effect: it is a section of another program", name);
}

static void section_begin(struct loader *loader, const struct k2i_ini_entry *entry)
{
	struct k2i_settings *settings = loader->checker.settings;
	struct k2i_sender_node *sender;
	struct k2i_node *server;

	loader->section = k2i_section_find(entry->section);
	if (loader->nodes_only && loader->section > K2I_SECTION_SLVNODE) {
		loader->section = K2I_SECTION_COUNT;
		return;
	}
	loader->section_number = entry->section_number;
	loader->header.file = file_keep(loader, entry->file);
	loader->header.line = entry->line;
	if (loader->section != K2I_SECTION_COUNT)
		loader->checker.settings->places->sections[loader->section] = loader->header;
	switch (loader->section) {
	case K2I_SECTION_SVRNODE:
		server = array_add(loader, (void **)&settings->servers, &settings->server_count, sizeof(*server));
		if (server)
			server->place = loader->header;
		break;
	case K2I_SECTION_SLVNODE:
		sender = array_add(loader, (void **)&settings->senders, &settings->sender_count, sizeof(*sender));
		if (sender)
			sender->place = loader->header;
		break;
	case K2I_SECTION_K2HFTFUSE_RULE:
	case K2I_SECTION_K2HFTFUSE_RULE_DIR:
		rule_add(loader);
		break;
	case K2I_SECTION_K2HFTFUSE:
		once(loader, &settings->fuse_present);
		break;
	case K2I_SECTION_K2HFTFUSESVR:
		once(loader, &settings->receiver_present);
		break;
	case K2I_SECTION_COUNT:
		section_unknown(loader, entry->section);
		break;
	default:
		break;
	}
}

/* The struct that the current section's fields are in. */
static void *section_object(const struct loader *loader)
{
	struct k2i_settings *settings = loader->checker.settings;

	switch (loader->section) {
	case K2I_SECTION_SVRNODE:
		return &settings->servers[settings->server_count - 1];
	case K2I_SECTION_SLVNODE:
		return &settings->senders[settings->sender_count - 1];
	case K2I_SECTION_K2HFTFUSE_RULE:
	case K2I_SECTION_K2HFTFUSE_RULE_DIR:
		return &settings->rules[settings->rule_count - 1];
	default:
		return settings;
	}
}

static void key_unknown(struct loader *loader, const struct k2i_ini_entry *entry, struct k2i_place place)
{
	const char *section = k2i_section_name(loader->section);
	const char *nearest = k2i_setting_nearest(loader->section, entry->name);
	enum k2i_section elsewhere = k2i_setting_elsewhere(entry->name);

	if (elsewhere != K2I_SECTION_COUNT)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, place, "[%s] has no key %s; it belongs in [%s]",
				 section, entry->name, k2i_section_name(elsewhere));
	else if (nearest)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, place, "unknown key %s in [%s]; did you mean %s?",
				 entry->name, section, nearest);
	else
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, place, "unknown key %s in [%s]", entry->name,
				 section);
}

static void pattern_add(struct loader *loader, const struct k2i_setting *setting, const char *text,
			const struct k2i_place *place)
{
	struct k2i_rule *rule = section_object(loader);
	bool allow = setting->field_offset == offsetof(struct k2i_rule, allow);
	struct k2i_pattern *pattern;

	pattern = array_add(loader, (void **)(allow ? &rule->allow : &rule->deny),
			    allow ? &rule->allow_count : &rule->deny_count, sizeof(*pattern));
	if (!pattern)
		return;
	pattern->place = *place;
	pattern->text = strdup(text);
	if (!pattern->text)
		loader->status = -ENOMEM;
}

static void prefix_add(struct loader *loader, const struct k2i_ini_entry *entry, const struct k2i_place *place)
{
	struct k2i_settings *settings = loader->checker.settings;
	char *text = strdup(entry->value), **prefix;

	if (!text) {
		loader->status = -ENOMEM;
		return;
	}
	if (!entry->literal)
		k2i_ini_unquote(text);
	if (!k2i_prefix_parse(text)) {
		k2i_checker_find(
			&loader->checker, K2I_FINDING_ERROR, *place,
			"%s = %s: use the beginning of a path below the mount; in it \\012 or \\0x0a is a byte, "
			"and \\0134 a backslash",
			entry->name, entry->value);
	} else if (*text) {
		prefix = array_add(loader, (void **)&settings->except, &settings->except_count, sizeof(*prefix));
		if (prefix) {
			*prefix = text;
			return;
		}
	}
	free(text);
}

/* Names of a library's settings are told apart by case. The last of several values counts: the library takes them in turn. */
static void option_add(struct loader *loader, const struct k2i_setting *setting, const struct k2i_ini_entry *entry,
		       const struct k2i_place *place)
{
	char **options = &loader->checker.settings->kafka_options, *value = strdup(entry->value), *text = NULL;

	if (value && !entry->literal)
		k2i_ini_unquote(value);
	if (value && strchr(value, '\n'))
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, *place, "%s has more than one line; write one",
				 entry->name);
	else if (!value || asprintf(&text, "%s%s=%s\n", *options ? *options : "",
				    entry->name + strlen(setting->name) - 1, value) < 0)
		loader->status = -ENOMEM;
	free(value);
	if (loader->status || !text)
		return;
	free(*options);
	*options = text;
	loader->checker.settings->places->keys[setting - k2i_settings_table] = *place;
}

/* A key that comes again in its section, or in another that is read as the same, replaces what it said before. */
static void said_again(struct loader *loader, const struct k2i_setting *setting, const struct k2i_place *place)
{
	size_t number = (size_t)(setting - k2i_settings_table);
	struct k2i_place *before = &loader->checker.settings->places->keys[number];

	bool again = before->file && (loader->said_in[number] == loader->section_number ||
				      section_object(loader) == loader->checker.settings);
	char text[512];

	/* Only the first receiver counts, and so do the places of its keys. */
	if (loader->section == K2I_SECTION_SVRNODE && loader->checker.settings->server_count > 1)
		return;
	if (again && setting->effect == K2I_EFFECT_SETTING)
		k2i_checker_find(&loader->checker, K2I_FINDING_WITHOUT_EFFECT, *before,
				 "%s has no effect: %s says it again", setting->name,
				 k2i_place_text(place, before->file, text, sizeof(text)));
	loader->said_in[number] = loader->section_number;
	*before = *place;
}

static void without_effect(struct loader *loader, const struct k2i_setting *setting, const struct k2i_place *place)
{
	k2i_checker_find(&loader->checker, K2I_FINDING_WITHOUT_EFFECT, *place, "%s has no effect: %s", setting->name,
			 setting->help);
}

/* As in K2HFTFUSE it is the value, and whoever wrote it may have meant to say none. */
static void comment_like(struct loader *loader, const struct k2i_ini_entry *entry, const struct k2i_place *place)
{
	if (!entry->literal && entry->value[0] == '#' && isblank((unsigned char)entry->value[1]))
		k2i_checker_find(&loader->checker, K2I_FINDING_WARNING, *place,
				 "%s has a value that begins with #, which begins a comment only behind a value; put "
				 "the value in quotes, or the comment into a line of its own",
				 entry->name);
}

static void key_read(struct loader *loader, const struct k2i_ini_entry *entry)
{
	const struct k2i_setting *setting = k2i_setting_find(loader->section, entry->name);
	struct k2i_place place = {file_keep(loader, entry->file), entry->line};
	char message[1024] = "";
	char *value;
	int status;

	if (!setting) {
		key_unknown(loader, entry, place);
		return;
	}
	if (setting->effect == K2I_EFFECT_ACCEPTED) {
		without_effect(loader, setting, &place);
		return;
	}
	comment_like(loader, entry, &place);
	if (setting->type == K2I_TYPE_PATTERN) {
		pattern_add(loader, setting, entry->value, &place);
		return;
	}
	if (setting->type == K2I_TYPE_PREFIX) {
		prefix_add(loader, entry, &place);
		return;
	}
	if (setting->type == K2I_TYPE_OPTIONS) {
		option_add(loader, setting, entry, &place);
		return;
	}
	said_again(loader, setting, &place);
	value = strdup(entry->value);
	if (!value) {
		loader->status = -ENOMEM;
		return;
	}
	if (!entry->literal && setting->type != K2I_TYPE_COMMAND)
		k2i_ini_unquote(value);
	status = k2i_value_parse(setting, value, section_object(loader), message, sizeof(message));
	if (status == -ENOMEM)
		loader->status = status;
	else if (status)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, place, "%s", message);
	else if (setting->type == K2I_TYPE_FILTER && *value)
		without_effect(loader, setting, &place);
	free(value);
}

static void on_entry(void *argument, const struct k2i_ini_entry *entry)
{
	struct loader *loader = argument;

	if (loader->status)
		return;
	if (!entry->name)
		section_begin(loader, entry);
	else if (!entry->section_number)
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, (struct k2i_place){entry->file, entry->line},
				 "%s comes before the first [SECTION]; put it into one", entry->name);
	else if (loader->section != K2I_SECTION_COUNT) /* else one finding, of its header, is enough */
		key_read(loader, entry);
}

static void on_fault(void *argument, const char *file, unsigned line, const char *text)
{
	struct loader *loader = argument;

	k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, (struct k2i_place){file, line}, "%s", text);
}

static bool name_ends(const char *name, const char *end)
{
	size_t name_bytes = strlen(name), end_bytes = strlen(end);

	return name_bytes >= end_bytes && strcasecmp(name + name_bytes - end_bytes, end) == 0;
}

static int defaults(struct k2i_settings *settings)
{
	int status = k2i_values_default(K2I_SECTION_GLOBAL, settings);

	if (!status)
		status = k2i_values_default(K2I_SECTION_K2HTPDTOR, settings);
	if (!status)
		status = k2i_values_default(K2I_SECTION_K2HFTFUSE, settings);
	if (!status)
		status = k2i_values_default(K2I_SECTION_K2HFTFUSESVR, settings);
	return status;
}

/*
 * A text that begins so is no path, but the configuration itself; a shell or fstab can have left backslashes in front.
 */
static bool is_json(const char *file)
{
	return file[strspn(file, " \t\r\n\\")] == '{';
}

static int read_file(struct loader *loader, const char *file, const char *json)
{
	struct k2i_ini_calls calls = {on_entry, on_fault, loader};
	int status;

	if (json || name_ends(file, ".yaml") || name_ends(file, ".yml") || name_ends(file, ".json"))
		status = k2i_yaml_read(json ? "(JSON)" : file, json, &calls);
	else
		status = k2i_ini_read(file, &calls);
	return status ? status : loader->status;
}

/* K2HTPDTOR_CHMPXCONF as a path: as INCLUDE takes it. NULL: no memory. */
static char *nodes_path(const char *from, const char *path)
{
	const char *slash = *path == '/' ? NULL : strrchr(from, '/');
	char *whole;

	return asprintf(&whole, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, path) < 0 ? NULL : whole;
}

/* GLOBAL, SVRNODE and SLVNODE of another file take the place of those of this one. */
static int read_nodes(struct loader *loader)
{
	struct k2i_settings *settings = loader->checker.settings;
	const struct k2i_setting *setting = k2i_setting_find(K2I_SECTION_K2HTPDTOR, "K2HTPDTOR_CHMPXCONF");
	struct k2i_place at = loader->checker.settings->places->keys[setting - k2i_settings_table];
	const char *text = settings->nodes_file, *json = is_json(text) ? strchr(text, '{') : NULL;
	char *path;
	int status;

	if (settings->receiver_present) {
		k2i_checker_find(
			&loader->checker, settings->fuse_present ? K2I_FINDING_ERROR : K2I_FINDING_WITHOUT_EFFECT, at,
			settings->fuse_present ? "K2HTPDTOR_CHMPXCONF is for a sender's file; put [K2HFTFUSESVR] into "
						 "another one"
					       : "K2HTPDTOR_CHMPXCONF has no effect: a receiver sends nothing");
		return 0;
	}
	if (loader->checker.settings->places->sections[K2I_SECTION_GLOBAL].file || settings->server_count ||
	    settings->sender_count)
		k2i_checker_find(
			&loader->checker, K2I_FINDING_WARNING, at,
			"[GLOBAL], [SVRNODE] and [SLVNODE] of this file have no effect: those of K2HTPDTOR_CHMPXCONF "
			"count");
	k2i_settings_nodes_clear(settings);
	status = k2i_values_default(K2I_SECTION_GLOBAL, settings);
	path = nodes_path(at.file, text);
	loader->nodes_only = true;
	if (!status)
		status = path ? read_file(loader, path, json) : -ENOMEM;
	if (status && status != -ENOMEM) {
		k2i_checker_find(&loader->checker, K2I_FINDING_ERROR, at, "K2HTPDTOR_CHMPXCONF: %s: %s", path,
				 strerror(-status));
		status = 0;
	}
	free(path);
	return status;
}

static int read_all(struct loader *loader, const char *file, const char *json)
{
	struct k2i_settings *settings = loader->checker.settings;
	int status = read_file(loader, file, json);

	if (!status && settings->nodes_file)
		status = read_nodes(loader);
	if (!status)
		status = k2i_nodes_expand(&loader->checker);
	/* A file without a section could not be read: nothing can be missed in it. */
	if (!status && (loader->header.file || !loader->checker.errors))
		status = k2i_settings_complete(&loader->checker);
	return status;
}

int k2i_settings_check(const char *file, k2i_settings_report *report, void *argument, struct k2i_settings **settings)
{
	struct k2i_settings *made = calloc(1, sizeof(*made));
	struct loader loader = {.checker = {.settings = made, .report = report, .argument = argument},
				.section = K2I_SECTION_COUNT};
	const char *json = is_json(file) ? strchr(file, '{') : NULL;
	int status = -ENOMEM;

	*settings = NULL;
	loader.said_in = calloc(k2i_settings_table_count, sizeof(*loader.said_in));
	if (made) {
		made->places =
			calloc(1, sizeof(*made->places) + k2i_settings_table_count * sizeof(made->places->keys[0]));
		made->file = strdup(json ? "(JSON)" : file);
	}
	if (made && made->places && made->file && loader.said_in)
		status = defaults(made);
	if (!status)
		status = read_all(&loader, made->file, json);
	free(loader.said_in);
	if (status) {
		k2i_settings_free(made);
		return status;
	}
	*settings = made;
	return loader.checker.errors;
}

struct first_error {
	char *message;
	size_t room;
	bool there, warnings; /* those are logged */
};

static void first_error_keep(void *argument, enum k2i_finding kind, const char *file, unsigned line, const char *text)
{
	struct first_error *first = argument;
	char number[16] = "";

	if (line)
		(void)snprintf(number, sizeof(number), ":%u", line);
	if (kind == K2I_FINDING_WARNING && first->warnings)
		k2i_log(K2HFT_LOG_WARNING, "%s%s: %s", file, number, text);
	if (kind != K2I_FINDING_ERROR || first->there)
		return;
	first->there = true;
	(void)snprintf(first->message, first->room, "%s%s: %s", file, number, text);
}

static int load(const char *file, struct k2i_settings **settings, char *message, size_t message_room, bool warnings)
{
	struct first_error first = {message, message_room, false, warnings};
	int status = k2i_settings_check(file, first_error_keep, &first, settings);

	if (status < 0)
		(void)snprintf(message, message_room, "%s: %s", is_json(file) ? "(JSON)" : file, strerror(-status));
	if (status <= 0)
		return status;
	k2i_settings_free(*settings);
	*settings = NULL;
	return -EINVAL;
}

int k2i_settings_load(const char *file, struct k2i_settings **settings, char *message, size_t message_room)
{
	return load(file, settings, message, message_room, false);
}

int k2i_settings_load_logged(const char *file, struct k2i_settings **settings, char *message, size_t message_room)
{
	return load(file, settings, message, message_room, true);
}
