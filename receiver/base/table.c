/* SPDX-License-Identifier: MIT */
#include "receiver/base/table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/hash.h"

#define BUCKETS_MIN 16u

static uint64_t hash_seed;
static pthread_once_t hash_seed_once = PTHREAD_ONCE_INIT;

/* A module has its own copy of this code, and looks in tables of the program: so the seed is of what the kernel gave both. */
static void hash_seed_make(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	/* Without it the seed stays zero: the tables still work, they can only be made slow. */
	if (random)
		hash_seed = k2i_hash(random, 16);
}

uint64_t k2i_table_hash(const void *bytes, size_t byte_count)
{
	(void)pthread_once(&hash_seed_once, hash_seed_make);
	return k2i_hash_seeded(bytes, byte_count, hash_seed);
}

static int table_grow(struct k2i_table *table)
{
	size_t bucket_count = table->bucket_count ? table->bucket_count * 2 : BUCKETS_MIN;
	struct k2i_table_node **buckets = calloc(bucket_count, sizeof(struct k2i_table_node *)), *node, *next;
	size_t i;

	if (!buckets)
		return -ENOMEM;
	for (i = 0; i < table->bucket_count; i++) {
		for (node = table->buckets[i]; node; node = next) {
			next = node->next;
			node->next = buckets[node->hash & (bucket_count - 1)];
			buckets[node->hash & (bucket_count - 1)] = node;
		}
	}
	free(table->buckets);
	table->buckets = buckets;
	table->bucket_count = bucket_count;
	return 0;
}

int k2i_table_insert(struct k2i_table *table, struct k2i_table_node *node, uint64_t hash)
{
	struct k2i_table_node **bucket;

	/* A table that can't grow gets slower, not wrong. */
	if (table->count >= table->bucket_count && table_grow(table) && !table->bucket_count)
		return -ENOMEM;
	bucket = &table->buckets[hash & (table->bucket_count - 1)];
	node->hash = hash;
	node->next = *bucket;
	*bucket = node;
	table->count++;
	return 0;
}

void k2i_table_remove(struct k2i_table *table, struct k2i_table_node *node)
{
	struct k2i_table_node **link = &table->buckets[node->hash & (table->bucket_count - 1)];

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	table->count--;
}

struct k2i_table_node *k2i_table_find(const struct k2i_table *table, uint64_t hash,
				      const struct k2i_table_node *previous)
{
	struct k2i_table_node *node;

	if (!table->bucket_count)
		return NULL;
	node = previous ? previous->next : table->buckets[hash & (table->bucket_count - 1)];
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

void k2i_table_each(struct k2i_table *table, void (*each)(void *argument, struct k2i_table_node *node), void *argument)
{
	struct k2i_table_node *node, *next;
	size_t i;

	for (i = 0; i < table->bucket_count; i++) {
		for (node = table->buckets[i]; node; node = next) {
			next = node->next;
			each(argument, node);
		}
	}
}

void k2i_table_free(struct k2i_table *table)
{
	free(table->buckets);
	table->buckets = NULL;
	table->bucket_count = table->count = 0;
}
