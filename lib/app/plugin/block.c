/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/plugin/plugins.h"

/*
 * Blocks that were read are used again: memory that is new to the process costs as much as all else that is done to a
 * record on its way.
 */
#define SPARE_BYTES_MAX ((size_t)4 << 20)
#define SPARES_MAX 4u

static struct {
	pthread_mutex_t mutex;
	struct k2i_plugin_block *blocks[SPARES_MAX];
	unsigned count;
} spares = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct k2i_plugin_block *spare_take(void)
{
	struct k2i_plugin_block *block = NULL;

	(void)pthread_mutex_lock(&spares.mutex);
	if (spares.count)
		block = spares.blocks[--spares.count];
	(void)pthread_mutex_unlock(&spares.mutex);
	return block;
}

void k2i_plugin_block_free(struct k2i_plugin_block *block)
{
	size_t room = block ? block->room : 0;

	if (room && room <= SPARE_BYTES_MAX) {
		(void)pthread_mutex_lock(&spares.mutex);
		if (spares.count < SPARES_MAX) {
			memset(block, 0, sizeof(*block));
			block->room = room;
			spares.blocks[spares.count++] = block;
			block = NULL;
		}
		(void)pthread_mutex_unlock(&spares.mutex);
	}
	free(block);
}

int k2i_plugin_block_put(struct k2i_plugin_block **block, const char *bytes, size_t byte_count)
{
	struct k2i_plugin_block *made = *block ? *block : spare_take();
	struct k2i_plugin_block *grown;
	size_t used = made ? made->bytes : 0, room = made ? made->room : 0;

	if (used + byte_count > room) {
		room = used + byte_count > 2 * room ? used + byte_count : 2 * room;
		grown = realloc(made, sizeof(*made) + room);
		if (!grown) {
			if (!*block)
				free(made);
			return -ENOMEM;
		}
		if (!made)
			memset(grown, 0, sizeof(*grown));
		made = grown;
		made->room = room;
	}
	*block = made;
	memcpy(made->data + used, bytes, byte_count);
	made->bytes = used + byte_count;
	return 0;
}
