/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_YAML_TREE_H
#define K2I_CONFIG_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

/* A YAML or JSON document, as far as configurations need one. */
enum k2i_yaml_kind { K2I_YAML_SCALAR, K2I_YAML_LIST, K2I_YAML_MAPPING };

struct k2i_yaml_node {
	enum k2i_yaml_kind kind;
	unsigned line;
	bool plain;                         /* a scalar without quotes */
	char *text;                         /* of a scalar: UTF-8 without NUL */
	struct k2i_yaml_node *first, *last; /* what is in it; of a mapping key, value, key, value */
	struct k2i_yaml_node *next;
};

#define K2I_YAML_BYTES_MAX (1024u * 1024)
#define K2I_YAML_DEPTH_MAX 12u
#define K2I_YAML_KEYS_MAX 512u

/*
 * Reads one YAML document; JSON is YAML, too. Constructs that configurations do not need, and that could be used
 * against their reader, are refused: aliases and anchors, tags, a second document, keys that are said twice, depth. 0
 * and the tree, NULL if there is nothing in it; -EINVAL with line and text of what is wrong; -ENOMEM.
 */
int k2i_yaml_parse(const void *bytes, size_t byte_count, struct k2i_yaml_node **tree, unsigned *line, char *message,
		   size_t message_room);
void k2i_yaml_free(struct k2i_yaml_node *tree);

#endif
