/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_TABLE_H
#define K2I_RECEIVER_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Hash table of nodes that are embedded in the caller's structures. It compares hashes only: the caller walks the nodes
 * of one hash and compares keys. Zero-initialised; not locked.
 */
struct k2i_table_node {
	struct k2i_table_node *next;
	uint64_t hash;
};

struct k2i_table {
	struct k2i_table_node **buckets;
	size_t bucket_count, count;
};

/* The structure that `node` is the member `field` of. */
#define K2I_TABLE_ENTRY(node, type, field) ((type *)(void *)((char *)(node)-offsetof(type, field)))

/* -ENOMEM */
int k2i_table_insert(struct k2i_table *table, struct k2i_table_node *node, uint64_t hash);
void k2i_table_remove(struct k2i_table *table, struct k2i_table_node *node);
/* The first node with `hash` after `previous` (NULL: at all), or NULL. */
struct k2i_table_node *k2i_table_find(const struct k2i_table *table, uint64_t hash,
				      const struct k2i_table_node *previous);
/* Every node, in no order; `each` may remove and free the node that it gets. */
void k2i_table_each(struct k2i_table *table, void (*each)(void *argument, struct k2i_table_node *node), void *argument);
/* Frees the table's own memory. */
void k2i_table_free(struct k2i_table *table);

/* The hash of bytes that a peer chose. Its seed is random for each process, so nobody can aim at one bucket. */
uint64_t k2i_table_hash(const void *bytes, size_t byte_count);

#endif
