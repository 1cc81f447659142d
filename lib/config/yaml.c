/* SPDX-License-Identifier: MIT */
#include "config/yaml_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/table.h"
#include "config/yaml_tree.h"

struct reader {
	const char *file;
	const struct k2i_ini_calls *calls;
	const char *section;
	unsigned section_number;
	int status;
};

__attribute__((format(printf, 3, 4))) static void fault(const struct reader *reader, unsigned line, const char *format,
							...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	reader->calls->fault(reader->calls->argument, reader->file, line, text);
}

static void entry_give(const struct reader *reader, unsigned line, const char *name, const char *value)
{
	const struct k2i_ini_entry entry = {
		.file = reader->file,
		.line = line,
		.section = reader->section,
		.section_number = reader->section_number,
		.name = name,
		.value = value,
		.literal = true,
	};

	reader->calls->entry(reader->calls->argument, &entry);
}

/* A file of the INI form can say it: no control characters. Line ends of FORMAT become what stands for them there. */
static char *value_make(const struct reader *reader, const char *name, const struct k2i_yaml_node *node)
{
	char *value = malloc(2 * strlen(node->text) + 4), *to = value;
	bool format = strcasecmp(name, "FORMAT") == 0;

	if (!value)
		return NULL;
	for (const char *from = node->text; *from; from++) {
		unsigned char byte = (unsigned char)*from;

		if (format && (byte == '\n' || byte == '\r')) {
			*to++ = '\\';
			*to++ = byte == '\n' ? 'n' : 'r';
			continue;
		}
		if ((byte < 32 && byte != '\t') || byte == 127) {
			fault(reader, node->line, "%s.%s: a control character in the value", reader->section, name);
			*value = '\0';
			return value;
		}
		*to++ = *from;
	}
	*to = '\0';
	return value;
}

/* Whether the quotes of a pattern that has them are closed, and nothing behind them would be a comment in INI. */
static bool quotes_closed(const char *text)
{
	bool inside = false;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '"')
			inside = !inside;
		else if (!inside && (*text == '#' || *text == '\''))
			return false;
	}
	return !inside;
}

/* A string in double quotes, as a pattern has it. NULL: a backslash at its end would take the quote. */
static char *quoted_put(char *to, const char *text)
{
	*to++ = '"';
	for (; *text; text++) {
		if (*text == '\\') {
			*to++ = *text++;
			if (!*text)
				return NULL;
		} else if (*text == '"') {
			*to++ = '\\';
		}
		*to++ = *text;
	}
	*to++ = '"';
	*to = '\0';
	return to;
}

/*
 * A pattern that begins with a double quote is an expression, as in INI. So is any other, without them; where it would
 * match nothing but itself, it becomes the text that INI has.
 */
static char *pattern_make(const struct reader *reader, const char *name, const struct k2i_yaml_node *node, char *value)
{
	bool quoted = *value == '"', expression = strpbrk(value, "\\^$.|?*+()[]{}");
	char *pattern, *to;

	if (quoted && quotes_closed(value))
		return value;
	pattern = to = malloc(2 * strlen(value) + 3);
	if (pattern && expression && !quoted)
		to = quoted_put(to, value);
	for (const char *from = value; pattern && !expression && *from; from++) {
		if (strchr("\"' \t#", *from))
			*to++ = '\\';
		*to++ = *from;
	}
	if (to && !expression)
		*to = '\0';
	if (pattern && (quoted || !to)) {
		fault(reader, node->line, "%s.%s: %s", reader->section, name,
		      quoted ? "the quotes of an expression are not closed"
			     : "a backslash at the end of an expression");
		*pattern = '\0';
	}
	free(value);
	return pattern;
}

static bool is_null(const struct k2i_yaml_node *node)
{
	return node->plain && (strcmp(node->text, "~") == 0 || strcasecmp(node->text, K2I_FILE_NONE) == 0);
}

static void scalar_read(struct reader *reader, enum k2i_value_type type, const char *name,
			const struct k2i_yaml_node *node)
{
	char *value = value_make(reader, name, node);

	if (value && type == K2I_TYPE_PATTERN)
		value = pattern_make(reader, name, node, value);
	else if (value && type != K2I_TYPE_FILE && is_null(node))
		*value = '\0';
	if (value)
		entry_give(reader, node->line, name, value);
	else
		reader->status = -ENOMEM;
	free(value);
}

/* [expression] or [expression, replacement]: what INI says with quotes. */
static void pair_read(struct reader *reader, const char *name, const struct k2i_yaml_node *list)
{
	const struct k2i_yaml_node *first = list->first, *second = first ? first->next : NULL;
	char *expression, *replacement = NULL, *text = NULL, *end;

	if (!first || first->kind != K2I_YAML_SCALAR || (second && (second->kind != K2I_YAML_SCALAR || second->next))) {
		fault(reader, list->line, "%s.%s: a list in the list must be [expression] or [expression, replacement]",
		      reader->section, name);
		return;
	}
	expression = value_make(reader, name, first);
	replacement = expression && second ? value_make(reader, name, second) : NULL;
	if (expression && (replacement || !second))
		text = malloc(2 * strlen(expression) + (replacement ? 2 * strlen(replacement) : 0) + 8);
	if (!text)
		reader->status = -ENOMEM;
	end = text ? quoted_put(text, expression) : NULL;
	if (end && replacement) {
		*end++ = ',';
		*end++ = ' ';
		end = quoted_put(end, replacement);
	}
	if (end)
		entry_give(reader, list->line, name, text);
	else if (text)
		fault(reader, list->line, "%s.%s: a backslash at the end of an expression or replacement",
		      reader->section, name);
	free(text);
	free(replacement);
	free(expression);
}

static void key_read(struct reader *reader, const struct k2i_yaml_node *key, const struct k2i_yaml_node *value)
{
	const struct k2i_setting *setting = k2i_setting_find(k2i_section_find(reader->section), key->text);

	if (!setting || setting->effect == K2I_EFFECT_ACCEPTED) {
		entry_give(reader, key->line, key->text, "");
	} else if (value->kind == K2I_YAML_SCALAR) {
		scalar_read(reader, setting->type, key->text, value);
	} else if (value->kind == K2I_YAML_MAPPING || setting->type != K2I_TYPE_PATTERN) {
		fault(reader, value->line, "%s.%s: %s where a value is wanted", reader->section, key->text,
		      value->kind == K2I_YAML_MAPPING ? "a mapping" : "a list");
	} else {
		for (const struct k2i_yaml_node *item = value->first; item; item = item->next) {
			if (item->kind == K2I_YAML_SCALAR)
				scalar_read(reader, setting->type, key->text, item);
			else if (item->kind == K2I_YAML_LIST)
				pair_read(reader, key->text, item);
			else
				fault(reader, item->line, "%s.%s: a mapping where a value is wanted", reader->section,
				      key->text);
		}
	}
}

static bool is_rule(const char *name)
{
	enum k2i_section section = k2i_section_find(name);

	return section == K2I_SECTION_K2HFTFUSE_RULE || section == K2I_SECTION_K2HFTFUSE_RULE_DIR;
}

static void sections_read(struct reader *reader, const struct k2i_yaml_node *name, const struct k2i_yaml_node *value);

/* Its own keys first: those that come behind its rules would else be taken for the rules'. */
static void section_read(struct reader *reader, const struct k2i_yaml_node *name, const struct k2i_yaml_node *mapping)
{
	bool has_rules = k2i_section_find(name->text) == K2I_SECTION_K2HFTFUSE;

	reader->section = name->text;
	reader->section_number++;
	entry_give(reader, mapping->line, NULL, NULL);
	if (k2i_section_find(name->text) == K2I_SECTION_COUNT)
		return;
	for (const struct k2i_yaml_node *key = mapping->first; key && key->next; key = key->next->next)
		if (!has_rules || !is_rule(key->text))
			key_read(reader, key, key->next);
	for (const struct k2i_yaml_node *key = mapping->first; has_rules && key && key->next; key = key->next->next)
		if (is_rule(key->text))
			sections_read(reader, key, key->next);
}

static bool is_empty(const struct k2i_yaml_node *node)
{
	return node->kind == K2I_YAML_SCALAR && ((node->plain && !*node->text) || is_null(node));
}

static void sections_read(struct reader *reader, const struct k2i_yaml_node *name, const struct k2i_yaml_node *value)
{
	const struct k2i_yaml_node *item = value->kind == K2I_YAML_LIST ? value->first : value;

	for (; item; item = value->kind == K2I_YAML_LIST ? item->next : NULL) {
		if (item->kind == K2I_YAML_MAPPING || is_empty(item))
			section_read(reader, name, item);
		else
			fault(reader, item->line, "%.100s: a section must be a mapping of keys, or a list of such",
			      name->text);
	}
}

static void tree_read(struct reader *reader, const struct k2i_yaml_node *tree)
{
	if (!tree || is_empty(tree))
		return;
	if (tree->kind != K2I_YAML_MAPPING) {
		fault(reader, tree->line, "the file must be a mapping of sections");
		return;
	}
	for (const struct k2i_yaml_node *name = tree->first; name && name->next; name = name->next->next)
		sections_read(reader, name, name->next);
}

/* The whole file; *bytes is more than K2I_YAML_BYTES_MAX if it is too large. */
static int file_read(const char *file, char **text, size_t *bytes)
{
	FILE *stream = fopen(file, "re");
	int error = 0;

	if (!stream)
		return -errno;
	*text = malloc(K2I_YAML_BYTES_MAX + 1);
	if (*text) {
		errno = 0;
		*bytes = fread(*text, 1, K2I_YAML_BYTES_MAX + 1, stream);
		if (ferror(stream))
			error = errno ? -errno : -EIO;
	} else {
		error = -ENOMEM;
	}
	(void)fclose(stream);
	if (error) {
		free(*text);
		*text = NULL;
	}
	return error;
}

static int text_read(struct reader *reader, const char *text, size_t bytes)
{
	struct k2i_yaml_node *tree;
	char message[384];
	unsigned line = 0;
	int status;

	if (bytes > K2I_YAML_BYTES_MAX) {
		fault(reader, 0, "more than %u bytes", K2I_YAML_BYTES_MAX);
		return 0;
	}
	status = k2i_yaml_parse(text, bytes, &tree, &line, message, sizeof(message));
	if (status == -EINVAL)
		fault(reader, line, "%s", message);
	if (status)
		return status == -EINVAL ? 0 : status;
	tree_read(reader, tree);
	k2i_yaml_free(tree);
	return reader->status;
}

int k2i_yaml_read(const char *file, const char *text, const struct k2i_ini_calls *calls)
{
	struct reader reader = {.file = file, .calls = calls, .section = ""};
	char *owned = NULL;
	size_t bytes = 0;
	int status;

	if (text)
		return text_read(&reader, text, strlen(text));
	status = file_read(file, &owned, &bytes);
	if (!status)
		status = text_read(&reader, owned, bytes);
	free(owned);
	return status;
}
