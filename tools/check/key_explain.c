/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "config/table.h"
#include "tools/base/commands.h"

/* So that it fits a terminal of 80 columns, and a page of the manual there. */
#define TEXT_BYTES 70

static void text_print(const char *text)
{
	size_t bytes, next;

	for (; *text; text += bytes, text += strspn(text, " ")) {
		bytes = strcspn(text, " ");
		while (text[bytes] && (next = bytes + 1 + strcspn(text + bytes + 1, " ")) <= TEXT_BYTES)
			bytes = next;
		(void)printf("  %.*s\n", (int)bytes, text);
	}
}

static void words_print(const struct k2i_word *word)
{
	const char *separator = "  one of ";

	for (; word->text; word++) {
		if (word->refused)
			continue;
		(void)printf("%s%s", separator, word->text);
		separator = ", ";
	}
	(void)putchar('\n');
}

static void range_print(const struct k2i_setting *setting)
{
	(void)fputs("  from ", stdout);
	k2i_value_print_number(setting, setting->minimum, stdout);
	(void)fputs(" to ", stdout);
	k2i_value_print_number(setting, setting->maximum, stdout);
	(void)printf("%s%s\n", *setting->unit ? " " : "", setting->unit);
}

static void setting_print(const struct k2i_setting *setting)
{
	(void)printf("%s in [%s]\n", setting->name, k2i_section_name(setting->section));
	if (setting->effect == K2I_EFFECT_SETTING)
		text_print(setting->help);
	else
		(void)printf("  %s: %s.\n",
			     setting->effect == K2I_EFFECT_ACCEPTED ? "Accepted, has no effect" : "Not available",
			     setting->help);
	if (setting->type == K2I_TYPE_NUMBER || setting->type == K2I_TYPE_SIZE)
		range_print(setting);
	else if (setting->effect == K2I_EFFECT_SETTING && k2i_type_words(setting->type))
		words_print(k2i_type_words(setting->type));
	if (*setting->default_text)
		(void)printf("  default %s\n", setting->default_text);
}

void k2i_key_nearest_consider(const char *name, const char **best, unsigned *best_distance)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;

	for (; setting < end; setting++)
		k2i_nearest_consider(name, setting->name, best, best_distance);
}

int k2i_key_explain(const char *name)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;
	int status = -ENOENT;

	for (; setting < end; setting++) {
		if (strcasecmp(setting->name, name) != 0)
			continue;
		setting_print(setting);
		status = 0;
	}
	/* Where "see TLS" leads. */
	if (status == 0)
		(void)puts("k2hft.conf(5) has more.");
	return status;
}
