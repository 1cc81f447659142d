/* SPDX-License-Identifier: MIT */
#include "config/table.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include <k2hft/ring.h>

#include "base/nearest.h"

/* The struct that holds a section's fields. */
#define OWNER_GLOBAL struct k2i_settings
#define OWNER_K2HTPDTOR struct k2i_settings
#define OWNER_K2HFTFUSE struct k2i_settings
#define OWNER_K2HFTFUSESVR struct k2i_settings
#define OWNER_SVRNODE struct k2i_node
#define OWNER_SLVNODE struct k2i_sender_node
#define OWNER_K2HFTFUSE_RULE struct k2i_rule
#define OWNER_K2HFTFUSE_RULE_DIR struct k2i_rule

#define K2I_SETTING(section, name, type, unit, minimum, maximum, default_text, field, help)                            \
	{K2I_SECTION_##section,                                                                                        \
	 name,                                                                                                         \
	 K2I_TYPE_##type,                                                                                              \
	 unit,                                                                                                         \
	 minimum,                                                                                                      \
	 maximum,                                                                                                      \
	 default_text,                                                                                                 \
	 K2I_EFFECT_SETTING,                                                                                           \
	 offsetof(OWNER_##section, field),                                                                             \
	 sizeof(((OWNER_##section *)0)->field),                                                                        \
	 help},
#define K2I_ACCEPTED(section, name, reason)                                                                            \
	{K2I_SECTION_##section, name, K2I_TYPE_TEXT, "", 0, 0, "", K2I_EFFECT_ACCEPTED, 0, 0, reason},
#define K2I_REFUSED(section, name, type, reason)                                                                       \
	{K2I_SECTION_##section, name, K2I_TYPE_##type, "", 0, 0, "", K2I_EFFECT_REFUSED, 0, 0, reason},
const struct k2i_setting k2i_settings_table[] = {
#include "config/settings.def"
};
#undef K2I_SETTING
#undef K2I_ACCEPTED
#undef K2I_REFUSED
const size_t k2i_settings_table_count = sizeof(k2i_settings_table) / sizeof(k2i_settings_table[0]);

static const char *const section_names[K2I_SECTION_COUNT] = {
	"GLOBAL",       "SVRNODE", "SLVNODE", "K2HTPDTOR", "K2HFTFUSE", "K2HFTFUSE_RULE", "K2HFTFUSE_RULE_DIR",
	"K2HFTFUSESVR",
};

static const struct k2i_word booleans[] = {
	{"yes", 1, false},  {"no", 0, false},    {"on", 1, false},
	{"off", 0, false},  {"y", 1, false},     {"n", 0, false},
	{"true", 1, false}, {"false", 0, false}, {0},
};
static const struct k2i_word ssl[] = {
	{"no", K2I_SSL_NO, false},    {"off", K2I_SSL_NO, false},   {"n", K2I_SSL_NO, false},
	{"false", K2I_SSL_NO, false}, {"yes", K2I_SSL_YES, false},  {"on", K2I_SSL_YES, false},
	{"y", K2I_SSL_YES, false},    {"true", K2I_SSL_YES, false}, {0},
};
static const struct k2i_word tls_versions[] = {
	{"TLSV1.2", K2HFT_TLS_1_2, false},
	{"TLSV1.3", K2HFT_TLS_1_3, false},
	{"DEFAULT", K2HFT_TLS_1_2, false},
	{"TLSV1.1", 0, true},
	{"TLSV1.0", 0, true},
	{"SSLV3", 0, true},
	{0},
};
static const struct k2i_word queues[] = {
	{"mem", K2I_QUEUE_MEMORY, false},
	{"temp", K2I_QUEUE_TEMPORARY, false},
	{"file", K2I_QUEUE_FILE, false},
	{"memory", K2I_QUEUE_MEMORY, false},
	{"m", K2I_QUEUE_MEMORY, false},
	{"temporary", K2I_QUEUE_TEMPORARY, false},
	{"t", K2I_QUEUE_TEMPORARY, false},
	{"f", K2I_QUEUE_FILE, false},
	{0},
};
static const struct k2i_word fulls[] = {{"block", K2HFT_FULL_BLOCK, false}, {"drop", K2HFT_FULL_DROP, false}, {0}};
static const struct k2i_word write_modes[] = {
	{"auto", K2I_WRITE_MODE_AUTO, false},
	{"cached", K2I_WRITE_MODE_CACHED, false},
	{"direct", K2I_WRITE_MODE_DIRECT, false},
	{0},
};
static const struct k2i_word compressions[] = {
	{"auto", K2HFT_COMPRESS_AUTO, false},
	{"never", K2HFT_COMPRESS_NEVER, false},
	{"always", K2HFT_COMPRESS_ALWAYS, false},
	{0},
};
static const struct k2i_word forward_compressions[] = {{"none", 0, false}, {"gzip", 1, false}, {0}};
static const struct k2i_word reloads[] = {{"signal", 0, false}, {"auto", 1, false}, {0}};
static const struct k2i_word verdicts[] = {{"ALLOW", 1, false}, {"DENY", 0, false}, {0}};
static const struct k2i_word outputs[] = {
	{"file", K2I_OUTPUT_FILE, false},
	{"trans", K2I_OUTPUT_RELAY, false},
	{"kafka", K2I_OUTPUT_KAFKA, false},
	{"forward", K2I_OUTPUT_FORWARD, false},
	{"otlp", K2I_OUTPUT_OTLP, false},
	{"both", K2I_OUTPUT_FILE | K2I_OUTPUT_RELAY, false},
	{"f", K2I_OUTPUT_FILE, false},
	{"t", K2I_OUTPUT_RELAY, false},
	{"transfer", K2I_OUTPUT_RELAY, false},
	{"b", K2I_OUTPUT_FILE | K2I_OUTPUT_RELAY, false},
	{0},
};

static const struct k2i_word open_modes[] = {
	{"buffered", K2I_STORE_BUFFERED, false},
	{"dsync", K2I_STORE_DSYNC, false},
	{"sync", K2I_STORE_SYNC, false},
	{0},
};
static const struct k2i_word caches[] = {{"drop", K2I_STORE_DROP, false}, {"keep", K2I_STORE_KEEP, false}, {0}};
static const struct k2i_word file_syncs[] = {
	{"none", K2I_FILE_SYNC_NONE, false},
	{"interval", K2I_FILE_SYNC_INTERVAL, false},
	{"always", K2I_FILE_SYNC_ALWAYS, false},
	{0},
};

static const struct k2i_word rotate_compressions[] = {
	{"none", K2I_ROTATE_COMPRESS_NONE, false},
	{"gzip", K2I_ROTATE_COMPRESS_GZIP, false},
	{"zstd", K2I_ROTATE_COMPRESS_ZSTD, false},
	{0},
};
static const struct k2i_word spreads[] = {
	{"hash", K2HFT_SPREAD_HASH, false},
	{"random", K2HFT_SPREAD_RANDOM, false},
	{0},
};

static const struct k2i_word kafka_batches[] = {
	{"record", K2I_KAFKA_RECORD, false},
	{"chunk", K2I_KAFKA_CHUNK, false},
	{0},
};

const struct k2i_word *k2i_type_words(enum k2i_value_type type)
{
	static const struct k2i_word *const words[K2I_TYPE_COUNT] = {
		[K2I_TYPE_BOOLEAN] = booleans,
		[K2I_TYPE_SSL] = ssl,
		[K2I_TYPE_QUEUE] = queues,
		[K2I_TYPE_FULL] = fulls,
		[K2I_TYPE_COMPRESS] = compressions,
		[K2I_TYPE_VERDICT] = verdicts,
		[K2I_TYPE_OUTPUTS] = outputs,
		[K2I_TYPE_TLS_VERSION] = tls_versions,
		[K2I_TYPE_GZIP] = forward_compressions,
		[K2I_TYPE_OPEN_MODE] = open_modes,
		[K2I_TYPE_CACHE] = caches,
		[K2I_TYPE_FILE_SYNC] = file_syncs,
		[K2I_TYPE_WRITE_MODE] = write_modes,
		[K2I_TYPE_ROTATE_COMPRESS] = rotate_compressions,
		[K2I_TYPE_SPREAD] = spreads,
		[K2I_TYPE_RELOAD] = reloads,
		[K2I_TYPE_KAFKA_BATCH] = kafka_batches,
	};

	return words[type];
}

const char *k2i_section_name(enum k2i_section section)
{
	return section_names[section];
}

/* Sections are told apart by case too, as K2HFTFUSE does. */
enum k2i_section k2i_section_find(const char *name)
{
	unsigned section = 0;

	while (section < K2I_SECTION_COUNT && strcmp(section_names[section], name) != 0)
		section++;
	return (enum k2i_section)section;
}

/* Keys of options have any name behind the dot of theirs. */
static bool name_is(const struct k2i_setting *setting, const char *name)
{
	size_t bytes = strlen(setting->name) - 1;

	if (setting->type != K2I_TYPE_OPTIONS)
		return strcasecmp(setting->name, name) == 0;
	return strncasecmp(setting->name, name, bytes) == 0 && name[bytes];
}

const struct k2i_setting *k2i_setting_find(enum k2i_section section, const char *name)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;

	for (; setting < end; setting++)
		if (setting->section == section && name_is(setting, name))
			return setting;
	return NULL;
}

const char *k2i_setting_idle(const struct k2i_setting *setting, const struct k2i_settings *settings)
{
	static const struct {
		const char *begin, *word;
		unsigned outputs; /* any of them uses the key */
	} keys[] = {
		{"FORWARD_", "forward", K2I_OUTPUT_FORWARD},
		{"KAFKA", "kafka", K2I_OUTPUT_KAFKA},
		{"OTLP_", "otlp", K2I_OUTPUT_OTLP},
		{"TRANSCONF", "trans", K2I_OUTPUT_RELAY},
		{"K2H", "trans", K2I_OUTPUT_RELAY},
		{"RINGSIZE", "trans", K2I_OUTPUT_RELAY},
		{"ACKEND", "trans", K2I_OUTPUT_RELAY},
		{"COPIES", "trans", K2I_OUTPUT_RELAY},
		{"FAILOVERTIME", "trans", K2I_OUTPUT_RELAY},
		{"FORMAT", "file", K2I_OUTPUT_FILE},
		{"FILE_UNIFY", "file", K2I_OUTPUT_FILE},
		{"FILE_MODE", "file", K2I_OUTPUT_FILE},
		{"FILE_TIMEFORM", "file", K2I_OUTPUT_FILE | K2I_OUTPUT_FORWARD | K2I_OUTPUT_KAFKA},
		{"PLUGIN", "file", K2I_OUTPUT_FILE},
		{"WRITEBUF", "file", K2I_OUTPUT_FILE},
		{"OPENMODE", "file", K2I_OUTPUT_FILE},
		{"CACHE", "file", K2I_OUTPUT_FILE},
	};

	if (setting->section != K2I_SECTION_K2HFTFUSESVR || setting->effect != K2I_EFFECT_SETTING || !settings->outputs)
		return NULL;
	for (size_t at = 0; at < sizeof(keys) / sizeof(keys[0]); at++)
		if (strncmp(setting->name, keys[at].begin, strlen(keys[at].begin)) == 0)
			return settings->outputs & keys[at].outputs ? NULL : keys[at].word;
	return NULL;
}

const char *k2i_section_nearest(const char *name)
{
	const char *best = NULL;
	unsigned best_distance = K2I_NEAREST_NONE;
	size_t section;

	for (section = 0; section < K2I_SECTION_COUNT; section++)
		k2i_nearest_consider(name, section_names[section], &best, &best_distance);
	return best;
}

const char *k2i_setting_nearest(enum k2i_section section, const char *name)
{
	const char *best = NULL;
	unsigned best_distance = K2I_NEAREST_NONE;
	size_t number;

	for (number = 0; number < k2i_settings_table_count; number++)
		if (k2i_settings_table[number].section == section)
			k2i_nearest_consider(name, k2i_settings_table[number].name, &best, &best_distance);
	return best;
}

enum k2i_section k2i_setting_elsewhere(const char *name)
{
	size_t number;

	for (number = 0; number < k2i_settings_table_count; number++)
		if (name_is(&k2i_settings_table[number], name))
			return k2i_settings_table[number].section;
	return K2I_SECTION_COUNT;
}
