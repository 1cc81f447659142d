/* SPDX-License-Identifier: MIT */
/* Whether a ring has a consumer, or can get one. */
#include "ring/map.h"

#include <string.h>
#include <sys/stat.h>

#include "base/caller.h"
#include "base/uuid.h"

bool k2i_consumer_alive(int descriptor, const struct k2i_ring_header *header)
{
	/* relaxed: a copy that nobody shares. */
	struct k2i_process consumer = {
		.owner = atomic_load_explicit(&header->consumer, memory_order_relaxed),
		.namespace = atomic_load_explicit(&header->consumer_namespace, memory_order_relaxed),
	};
	uint8_t boot_id[sizeof(header->boot_id)];
	struct k2i_process self;

	if (consumer.owner == 0)
		return false;
	/*
	 * Its pid tells more than the lock, which a child can have inherited; but not from elsewhere, nor of a file that is
	 * elsewhere, nor this process's own, which can have been another program when it was the consumer.
	 */
	if (!k2i_ring_elsewhere(descriptor, header) && k2i_process_self(&self) == 0 && k2i_boot_id(boot_id) == 0 &&
	    consumer.namespace == self.namespace && consumer.owner != self.owner &&
	    memcmp(boot_id, header->boot_id, sizeof(boot_id)) == 0)
		return k2i_process_alive(&self, &consumer);
	return k2i_ring_locked(descriptor, K2I_LOCK_CONSUMER);
}

bool k2i_ring_abandoned_known(const struct k2hft_ring *ring)
{
	/* relaxed: a fact about another process, which nothing here goes with. */
	return atomic_load_explicit(&ring->abandoned, memory_order_relaxed);
}

bool k2i_ring_abandoned(struct k2hft_ring *ring)
{
	struct k2i_ring_header header;
	struct stat file;
	/* A writer's look, in the middle of its call. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	/* By its name another consumer can find a ring that lost its own: that is waited for. */
	if (ring->attachment && !k2i_ring_abandoned_known(ring) && fstat(ring->descriptor, &file) == 0 &&
	    file.st_nlink == 0 && k2i_ring_identify(ring->descriptor, &header, NULL) == 0 &&
	    !k2i_ring_locked(ring->descriptor, K2I_LOCK_KEPT) && !k2i_consumer_alive(ring->descriptor, &header))
		/* relaxed: as above. */
		atomic_store_explicit(&ring->abandoned, true, memory_order_relaxed);
	return k2i_ring_abandoned_known(ring);
}
