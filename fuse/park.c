/* SPDX-License-Identifier: MIT */
#include "park.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handles.h"
#include "mount.h"
#include "reply.h"
#include "write.h"

int k2i_park_add(struct k2i_mount *mount, const struct k2i_parked *item)
{
	struct k2i_park *park = &mount->park;
	size_t data_bytes = item->data ? item->bytes : 0;
	struct k2i_parked *added = malloc(sizeof(*added) + data_bytes);

	if (!added)
		return -ENOMEM;
	*added = *item;
	added->next = NULL;
	if (data_bytes)
		added->data = memcpy(added + 1, item->data, data_bytes);
	if (park->last)
		park->last->next = added;
	else
		park->first = added;
	park->last = added;
	park->bytes += data_bytes;
	item->handle->parked++;
	return 0;
}

static void free_item(struct k2i_mount *mount, struct k2i_parked *item)
{
	struct k2i_handle *handle = item->handle;

	if (item->data)
		mount->park.bytes -= item->bytes;
	free(item);
	handle->parked--;
	k2i_handle_free_if_done(mount, handle);
}

void k2i_park_answer(struct k2i_mount *mount, const struct k2i_parked *item, int status)
{
	if (item->kind == K2I_PARKED_WRITE && (status == 0 || item->taken))
		k2i_reply_written(mount, item->unique, item->taken);
	else
		k2i_reply_status(mount, item->unique, status);
}

/* The position that ends all that is in the ring now. */
static void begin_sync(struct k2i_mount *mount, struct k2i_parked *item)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	(void)k2hft_ring_stats(mount->ring, &stats);
	item->position = stats.tail;
	item->next = mount->park.syncs;
	mount->park.syncs = item;
}

static void run_syncs(struct k2i_mount *mount)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	struct k2i_parked **place = &mount->park.syncs;

	if (!*place)
		return;
	(void)k2hft_ring_stats(mount->ring, &stats);
	while (*place) {
		struct k2i_parked *item = *place;

		if (stats.head < item->position) {
			place = &item->next;
			continue;
		}
		*place = item->next;
		k2i_park_answer(mount, item, 0);
		free_item(mount, item);
	}
}

static struct k2i_parked *take_first(struct k2i_park *park)
{
	struct k2i_parked *item = park->first;

	park->first = item->next;
	if (!park->first)
		park->last = NULL;
	return item;
}

static void run_queue(struct k2i_mount *mount)
{
	struct k2i_park *park = &mount->park;

	while (park->first) {
		struct k2i_parked *item = park->first;
		int status = item->kind == K2I_PARKED_SYNC ? 0 : k2i_write_advance(mount, item);

		if (status == -EAGAIN)
			return;
		(void)take_first(park);
		if (item->kind == K2I_PARKED_SYNC) {
			begin_sync(mount, item);
		} else {
			if (status && item->unique == 0)
				k2i_log(K2HFT_LOG_ERROR, "mount: the last record of a file is lost: %s",
					strerror(-status));
			k2i_park_answer(mount, item, status);
			free_item(mount, item);
		}
	}
}

void k2i_park_run(struct k2i_mount *mount)
{
	run_queue(mount);
	run_syncs(mount);
}

static struct k2i_parked *take_sync(struct k2i_park *park, uint64_t unique)
{
	for (struct k2i_parked **place = &park->syncs; *place; place = &(*place)->next) {
		struct k2i_parked *item = *place;

		if (item->unique != unique)
			continue;
		*place = item->next;
		return item;
	}
	return NULL;
}

void k2i_park_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_parked *item = unique ? take_sync(&mount->park, unique) : NULL;

	if (item) {
		k2i_park_answer(mount, item, -EINTR);
		free_item(mount, item);
		return;
	}
	for (item = mount->park.first; item; item = item->next) {
		if (unique == 0 || item->unique != unique)
			continue;
		k2i_park_answer(mount, item, -EINTR);
		/* Its place stays: what of it has been taken must be sent before what came later. */
		item->unique = 0;
		if (item->kind == K2I_PARKED_WRITE || item->kind == K2I_PARKED_SYNC)
			item->kind = K2I_PARKED_REST;
		return;
	}
}

static void abandon_list(struct k2i_mount *mount, struct k2i_parked *item, int error)
{
	while (item) {
		struct k2i_parked *next = item->next;

		k2i_park_answer(mount, item, error);
		free_item(mount, item);
		item = next;
	}
}

void k2i_park_abandon(struct k2i_mount *mount, int error)
{
	struct k2i_parked *first = mount->park.first, *syncs = mount->park.syncs;

	mount->park.first = mount->park.last = mount->park.syncs = NULL;
	abandon_list(mount, first, error);
	abandon_list(mount, syncs, error);
}

bool k2i_park_empty(const struct k2i_mount *mount)
{
	return !mount->park.first && !mount->park.syncs;
}
