/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "config/table.h"

static void patterns_print(const char *name, const struct k2i_pattern *patterns, size_t count, FILE *output)
{
	size_t number;

	for (number = 0; number < count; number++)
		(void)fprintf(output, "%s = %s\n", name, patterns[number].text);
}

static void comment_print(const struct k2i_setting *setting, FILE *output)
{
	if (*setting->unit)
		(void)fprintf(output, "  # %s", setting->unit);
	if (*setting->default_text)
		(void)fprintf(output, "%s default %s", *setting->unit ? ";" : "  #", setting->default_text);
	(void)fputc('\n', output);
}

/* Keys with a default that can be without effect, which a check of the printed file would report. */
static bool has_no_effect(const struct k2i_setting *setting, const void *object)
{
	return setting == k2i_setting_find(K2I_SECTION_GLOBAL, "SSL_MIN_VER") &&
	       k2i_settings_ssl(object, false) != K2I_SSL_YES && k2i_settings_ssl(object, true) != K2I_SSL_YES;
}

static void options_print(const struct k2i_setting *setting, const char *options, FILE *output)
{
	const char *equals, *end;

	for (; *options; options = end + 1) {
		equals = strchr(options, '=');
		end = strchr(equals, '\n');
		(void)fprintf(output, "%.*s%.*s = \"%.*s\"\n", (int)strlen(setting->name) - 1, setting->name,
			      (int)(equals - options), options, (int)(end - equals) - 1, equals + 1);
	}
}

/* A value that is not set has no text that would set it: the key is shown as a comment. */
static void setting_print(const struct k2i_setting *setting, const void *object, FILE *output)
{
	const char *idle = !k2i_value_set(setting, object)     ? "is not set"
			   : has_no_effect(setting, object)    ? "has no effect without SSL = yes"
			   : k2i_setting_idle(setting, object) ? "has no effect without its TYPE"
							       : NULL;

	if (idle) {
		(void)fprintf(output, "# %s %s\n", setting->name, idle);
		return;
	}
	if (setting->type == K2I_TYPE_OPTIONS) {
		options_print(setting, ((const struct k2i_settings *)object)->kafka_options, output);
		return;
	}
	(void)fprintf(output, "%s = ", setting->name);
	k2i_value_print(setting, object, output);
	comment_print(setting, output);
}

static void section_print(enum k2i_section section, const void *object, FILE *output)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;

	(void)fprintf(output, "[%s]\n", k2i_section_name(section));
	for (; setting < end; setting++)
		if (setting->section == section && setting->effect == K2I_EFFECT_SETTING &&
		    setting->type != K2I_TYPE_PATTERN && setting->type != K2I_TYPE_PREFIX)
			setting_print(setting, object, output);
}

static void rule_print(const struct k2i_rule *rule, FILE *output)
{
	(void)fputc('\n', output);
	section_print(rule->directory ? K2I_SECTION_K2HFTFUSE_RULE_DIR : K2I_SECTION_K2HFTFUSE_RULE, rule, output);
	patterns_print("ALLOW", rule->allow, rule->allow_count, output);
	patterns_print("DENY", rule->deny, rule->deny_count, output);
}

int k2i_settings_print(const struct k2i_settings *settings, FILE *output)
{
	size_t number;

	section_print(K2I_SECTION_GLOBAL, settings, output);
	for (number = 0; number < settings->server_count; number++) {
		(void)fputc('\n', output);
		section_print(K2I_SECTION_SVRNODE, &settings->servers[number], output);
	}
	for (number = 0; number < settings->sender_count; number++) {
		(void)fputc('\n', output);
		section_print(K2I_SECTION_SLVNODE, &settings->senders[number], output);
	}
	if (settings->fuse_present) {
		(void)fputc('\n', output);
		section_print(K2I_SECTION_K2HFTFUSE, settings, output);
	}
	for (number = 0; number < settings->rule_count; number++)
		rule_print(&settings->rules[number], output);
	if (settings->receiver_present) {
		(void)fputc('\n', output);
		section_print(K2I_SECTION_K2HFTFUSESVR, settings, output);
	}
	return ferror(output) ? -EIO : 0;
}

/* "mem|temp|file": the words to use, without those of the same meaning and without those that are refused. */
static void words_print(const struct k2i_word *words, FILE *output)
{
	const struct k2i_word *word, *earlier;

	for (word = words; word->text; word++) {
		for (earlier = words; earlier->value != word->value; earlier++)
			;
		if (earlier == word && !word->refused)
			(void)fprintf(output, "%s%s", word == words ? "" : "|", word->text);
	}
}

static void row_print(const struct k2i_setting *setting, FILE *output)
{
	static const char *const types[K2I_TYPE_COUNT] = {
		"text", "path",    "relative", "target", "output",  "file",   "command", "period", "keep", "host",
		"URL",  "servers", "headers",  "option", "pattern", "prefix", "filter",  "number", "size", "mode"};
	static const char *const effects[] = {"setting", "none", "refused"};
	bool ranged = setting->type == K2I_TYPE_NUMBER || setting->type == K2I_TYPE_SIZE;

	(void)fprintf(output, "%s\t%s\t", k2i_section_name(setting->section), setting->name);
	if (types[setting->type])
		(void)fputs(types[setting->type], output);
	else
		words_print(k2i_type_words(setting->type), output);
	(void)fprintf(output, "\t%s\t", setting->unit);
	if (ranged)
		k2i_value_print_number(setting, setting->minimum, output);
	(void)fputc('\t', output);
	if (ranged)
		k2i_value_print_number(setting, setting->maximum, output);
	(void)fprintf(output, "\t%s\t%s\t%s\n", setting->default_text, effects[setting->effect], setting->help);
}

int k2i_settings_table_print(FILE *output)
{
	size_t number;

	for (number = 0; number < k2i_settings_table_count; number++)
		row_print(&k2i_settings_table[number], output);
	return ferror(output) ? -EIO : 0;
}
