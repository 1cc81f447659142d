/* SPDX-License-Identifier: MIT */
#include "config/yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

struct builder {
	yaml_parser_t parser;
	const char *bytes;
	struct k2i_yaml_node *open[K2I_YAML_DEPTH_MAX]; /* lists and mappings that are not closed yet */
	unsigned depth;
	struct k2i_yaml_node *root;
	unsigned *line;
	char *message;
	size_t message_room;
};

__attribute__((format(printf, 3, 4))) static int refuse(struct builder *builder, size_t line, const char *format, ...)
{
	va_list arguments;

	*builder->line = (unsigned)line + 1;
	va_start(arguments, format);
	(void)vsnprintf(builder->message, builder->message_room, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* libyaml knows only the offset of bytes that are no text. */
static int parser_refused(struct builder *builder)
{
	const yaml_parser_t *parser = &builder->parser;
	const char *problem = parser->problem ? parser->problem : "it can't be read";
	size_t line = parser->problem_mark.line;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		line = 0;
		for (size_t at = 0; at < parser->problem_offset; at++)
			line += builder->bytes[at] == '\n';
	}
	return refuse(builder, line, "this is not YAML or JSON: %s%s%s", problem, parser->context ? " " : "",
		      parser->context ? parser->context : "");
}

void k2i_yaml_free(struct k2i_yaml_node *tree)
{
	while (tree) {
		struct k2i_yaml_node *next = tree->next;

		k2i_yaml_free(tree->first); /* no deeper than K2I_YAML_DEPTH_MAX */
		free(tree->text);
		free(tree);
		tree = next;
	}
}

static struct k2i_yaml_node *parent_of(const struct builder *builder)
{
	return builder->depth ? builder->open[builder->depth - 1] : NULL;
}

/* How many nodes a mapping or list has; whether the next one of a mapping is a key. */
static unsigned count_of(const struct k2i_yaml_node *parent)
{
	unsigned count = 0;

	for (const struct k2i_yaml_node *node = parent->first; node; node = node->next)
		count++;
	return count;
}

static int key_check(struct builder *builder, const struct k2i_yaml_node *parent, const struct k2i_yaml_node *key)
{
	unsigned count = 0;

	if (key->kind != K2I_YAML_SCALAR)
		return refuse(builder, key->line - 1, "a key must be a word");
	for (const struct k2i_yaml_node *before = parent->first; before && before->next; before = before->next->next) {
		if (strcasecmp(before->text, key->text) == 0)
			return refuse(builder, key->line - 1, "%.100s is said twice, here and in line %u", key->text,
				      before->line);
		if (++count == K2I_YAML_KEYS_MAX)
			return refuse(builder, key->line - 1, "more than %u keys in one place", K2I_YAML_KEYS_MAX);
	}
	return 0;
}

/* The node belongs to the tree from here on, whatever is returned. */
static int node_add(struct builder *builder, struct k2i_yaml_node *node)
{
	struct k2i_yaml_node *parent = parent_of(builder);
	bool is_key = parent && parent->kind == K2I_YAML_MAPPING && count_of(parent) % 2 == 0;
	int error = is_key ? key_check(builder, parent, node) : 0;

	if (!parent) {
		builder->root = node;
	} else if (parent->last) {
		parent->last->next = node;
		parent->last = node;
	} else {
		parent->first = parent->last = node;
	}
	if (error || node->kind == K2I_YAML_SCALAR)
		return error;
	if (builder->depth == K2I_YAML_DEPTH_MAX)
		return refuse(builder, node->line - 1, "nested more than %u deep", K2I_YAML_DEPTH_MAX);
	builder->open[builder->depth++] = node;
	return 0;
}

static int scalar_take(struct builder *builder, const yaml_event_t *event, struct k2i_yaml_node *node)
{
	const char *text = (const char *)event->data.scalar.value;

	if (strlen(text) != event->data.scalar.length)
		return refuse(builder, event->start_mark.line, "a NUL in a value");
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = strdup(text);
	return node->text ? 0 : -ENOMEM;
}

static int node_make(struct builder *builder, const yaml_event_t *event, enum k2i_yaml_kind kind)
{
	struct k2i_yaml_node *node = calloc(1, sizeof(*node));
	int error = node ? 0 : -ENOMEM;

	if (error)
		return error;
	node->kind = kind;
	node->line = (unsigned)event->start_mark.line + 1;
	if (kind == K2I_YAML_SCALAR)
		error = scalar_take(builder, event, node);
	if (!error)
		return node_add(builder, node);
	k2i_yaml_free(node);
	return error;
}

static bool is_marked(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor || event->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor || event->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor || event->data.mapping_start.tag;
	default:
		return event->type == YAML_ALIAS_EVENT;
	}
}

static int event_take(struct builder *builder, const yaml_event_t *event)
{
	if (is_marked(event))
		return refuse(builder, event->start_mark.line,
			      "aliases, anchors and tags (* & !) are not used here; "
			      "write the value, in quotes if it begins so");
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return builder->root ? refuse(builder, event->start_mark.line, "a second document") : 0;
	case YAML_SCALAR_EVENT:
		return node_make(builder, event, K2I_YAML_SCALAR);
	case YAML_SEQUENCE_START_EVENT:
		return node_make(builder, event, K2I_YAML_LIST);
	case YAML_MAPPING_START_EVENT:
		return node_make(builder, event, K2I_YAML_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		builder->depth--;
		return 0;
	default:
		return 0;
	}
}

static int events_read(struct builder *builder)
{
	bool ended = false;
	int error = 0;

	while (!ended && !error) {
		yaml_event_t event;

		if (!yaml_parser_parse(&builder->parser, &event))
			return parser_refused(builder);
		ended = event.type == YAML_STREAM_END_EVENT;
		error = event_take(builder, &event);
		yaml_event_delete(&event);
	}
	return error;
}

int k2i_yaml_parse(const void *bytes, size_t byte_count, struct k2i_yaml_node **tree, unsigned *line, char *message,
		   size_t message_room)
{
	/* libyaml passes over a byte order mark, but takes it for a column, so that all lines but the first stand before it. */
	size_t mark_bytes = byte_count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	const char *text = (const char *)bytes + mark_bytes;
	struct builder builder = {.bytes = text, .line = line, .message = message, .message_room = message_room};
	int error;

	*tree = NULL;
	if (!yaml_parser_initialize(&builder.parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, byte_count - mark_bytes);
	error = events_read(&builder);
	yaml_parser_delete(&builder.parser);
	if (error)
		k2i_yaml_free(builder.root);
	else
		*tree = builder.root;
	return error;
}
