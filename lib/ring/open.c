/* SPDX-License-Identifier: MIT */
#include "ring/map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/crash.h"
#include "base/options.h"
#include "base/uuid.h"

#define RING_FLAGS_KNOWN (K2HFT_RING_FRESH | K2HFT_RING_TEMPORARY)

/* A handle that has nothing yet. NULL: no memory. */
static struct k2hft_ring *handle_new(void)
{
	struct k2hft_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->descriptor = ring->wake_epoll = ring->wake_event = ring->wake_inotify = ring->wake_timer = -1;
	(void)pthread_mutex_init(&ring->stream_mutex, NULL);
	return ring;
}

/* Unmaps and closes everything that the handle has. */
static void handle_delete(struct k2hft_ring *ring)
{
	k2i_wake_close(ring);
	k2i_stream_copies_free(ring);
	if (ring->header)
		(void)munmap(ring->header, ring->mapped_bytes);
	if (ring->descriptor >= 0)
		(void)close(ring->descriptor);
	(void)pthread_mutex_destroy(&ring->stream_mutex);
	free(ring);
}

static int options_check(struct k2hft_ring_options *options)
{
	if (options->flags & ~RING_FLAGS_KNOWN)
		return k2i_option_refuse("flags of the ring = %u are not known", options->flags);
	if (options->reserved)
		return k2i_option_refuse("reserved of the ring = %u is not 0", options->reserved);
	if (options->flags & K2HFT_RING_TEMPORARY && !options->path)
		return k2i_option_refuse("K2HFT_RING_TEMPORARY needs a path");
	if (options->ring_bytes == 0)
		options->ring_bytes = K2HFT_RING_BYTES_DEFAULT;
	if (options->ring_bytes < K2HFT_RING_BYTES_MIN || options->ring_bytes > K2HFT_RING_BYTES_MAX)
		return k2i_option_refuse("ring_bytes = %" PRIu64 " is less than %" PRIu64 " or more than %" PRIu64,
					 options->ring_bytes, (uint64_t)K2HFT_RING_BYTES_MIN,
					 (uint64_t)K2HFT_RING_BYTES_MAX);
	options->ring_bytes = k2i_power_of_two_up(options->ring_bytes);
	return 0;
}

/* Descriptor of the file or memory, with a ring in it. */
static int file_get(const struct k2hft_ring_options *options, struct k2i_ring_found *found)
{
	int descriptor, error;

	*found = (struct k2i_ring_found){.capacity = options->ring_bytes};
	if (options->path && !(options->flags & K2HFT_RING_TEMPORARY))
		return k2i_ring_file_open(options->path, options->flags & K2HFT_RING_FRESH, found);
	descriptor = options->path ? k2i_ring_temporary_create(options->path, found->capacity)
				   : k2i_ring_memory_create(found->capacity);
	if (descriptor < 0)
		return descriptor;
	error = k2i_ring_format(descriptor, found->capacity, &found->seed);
	if (!error)
		error = k2i_ring_lock_try(descriptor, K2I_LOCK_CONSUMER);
	if (!error)
		return descriptor;
	(void)close(descriptor);
	return error;
}

/* false: the positions are impossible; they were checked in the file, but who is still attached can write to it. */
static bool positions_inherit(struct k2hft_ring *ring)
{
	/* relaxed: as below. */
	uint64_t acked = atomic_load_explicit(&ring->header->acked, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_relaxed);

	if (k2i_position(head) < k2i_position(acked))
		head = acked;
	if ((head | acked) & 1 || !k2i_area_of(ring, head)->bytes || head > UINT64_MAX / 2)
		return false;
	ring->head = ring->read = k2i_position(head);
	ring->head_area = ring->read_area = head & K2I_PLACE_AREA;
	ring->acked = ring->chunk_end = k2i_position(acked);
	/* R4: as in a release, which the one before may not have finished. */
	atomic_store_explicit(&ring->header->head, head, memory_order_release);
	return true;
}

/* Takes over from the consumer before: its claims, and those of the dead. */
static int consumer_inherit(struct k2hft_ring *ring, bool rebooted)
{
	struct k2i_ring_header *header = ring->header;
	/* relaxed: whoever wrote it is dead, or has closed the ring; the file's lock lies between. */
	struct k2i_process before = {
		.owner = atomic_load_explicit(&header->consumer, memory_order_relaxed),
		.namespace = atomic_load_explicit(&header->consumer_namespace, memory_order_relaxed),
	};
	uint32_t waiters;

	if (!positions_inherit(ring))
		return -EPROTO;
	k2i_slots_inherit(ring, &before, rebooted);
	/* A7: whoever is counted has a slot, unless it was killed. relaxed: a count of nobody has nothing to tell. */
	waiters = atomic_load_explicit(&header->space_waiters, memory_order_seq_cst);
	if (k2i_slots_live(ring) == 0) {
		(void)atomic_compare_exchange_strong_explicit(&header->space_waiters, &waiters, 0, memory_order_relaxed,
							      memory_order_relaxed);
		k2i_streams_forget(ring);
	} else {
		k2i_streams_inherit(ring, &before);
	}
	return 0;
}

uint64_t k2i_ring_opened_at(const struct k2hft_ring *ring, bool *introduced)
{
	/* relaxed: the consumer alone writes it. */
	uint64_t opened_at = atomic_load_explicit(&ring->header->opened_at, memory_order_relaxed);

	*introduced = opened_at == 0;
	return *introduced ? k2i_tail_load(ring) : opened_at - 1;
}

void k2i_ring_introduced(struct k2hft_ring *ring)
{
	/* relaxed: as above. */
	atomic_store_explicit(&ring->header->opened_at, 0, memory_order_relaxed);
}

static void consumer_begin(struct k2hft_ring *ring)
{
	struct k2i_ring_header *header = ring->header;
	bool introduced;
	uint64_t opened_at = k2i_ring_opened_at(ring, &introduced);

	/* relaxed: as above. */
	atomic_store_explicit(&header->opened_at, opened_at | 1, memory_order_relaxed);
	/* relaxed: the next consumer reads it. */
	atomic_store_explicit(&header->place, k2i_ring_place(ring->descriptor), memory_order_relaxed);
	/* relaxed: nobody acts on these before R10, and what producers do meanwhile is in the entries. */
	atomic_store_explicit(&header->read, ring->read, memory_order_relaxed);
	atomic_store_explicit(&header->sleeping, 0, memory_order_relaxed);
	atomic_store_explicit(&header->clean, 0, memory_order_relaxed);
	/* Other sleeps than those of the consumers before, which a slow producer can still be waking. */
	ring->sleep_number = (uint32_t)atomic_fetch_add_explicit(&header->epoch, 1, memory_order_relaxed) << 20;
	atomic_store_explicit(&header->consumer_namespace, ring->process.namespace, memory_order_relaxed);
	/* R10 */
	atomic_store_explicit(&header->consumer, ring->process.owner, memory_order_release);
}

/* Takes memory and descriptors before the file is touched: a failure must not come when a ring was replaced already. */
static int consumer_make(struct k2hft_ring **ring)
{
	struct k2hft_ring *made = handle_new();
	int error;

	if (!made)
		return -ENOMEM;
	made->consumer = true;
	made->stream_copies = calloc(K2HFT_STREAM_COUNT_MAX, sizeof(*made->stream_copies));
	error = made->stream_copies ? k2i_wake_open(made) : -ENOMEM;
	if (error)
		handle_delete(made);
	else
		*ring = made;
	return error;
}

/* Takes away the marks that a power cut can leave, once all that is in the ring is known. */
static void boot_end(struct k2hft_ring *ring, bool rebooted, const uint8_t boot_id[16])
{
	/* A new ring has nothing to clear, and none of its memory should be taken before it is used. relaxed: as below. */
	if (rebooted && atomic_load_explicit(&ring->header->epoch, memory_order_relaxed) != 0)
		k2i_free_room_clear(ring);
	memcpy(ring->header->boot_id, boot_id, sizeof(ring->header->boot_id));
}

static int consumer_start(struct k2hft_ring *ring, const struct k2i_ring_found *found)
{
	uint8_t boot_id[sizeof(ring->header->boot_id)];
	int error = k2i_ring_map(ring, found->capacity, found->seed);
	bool rebooted = false;

	if (!error)
		error = k2i_wake_watch(ring);
	if (!error)
		error = k2i_boot_id(boot_id);
	if (!error) {
		/* Processes that a copy names have the original. */
		rebooted = found->elsewhere || memcmp(boot_id, ring->header->boot_id, sizeof(boot_id)) != 0;
		error = consumer_inherit(ring, rebooted);
	}
	if (error)
		return error;
	K2I_CRASH(ring_inherited);
	if (found->cut_bytes)
		k2i_cut_entry_clear(ring, found->cut_bytes);
	error = found->elsewhere ? k2i_ring_settle(ring) : 0;
	if (error)
		return error;
	(void)k2hft_ring_repair(ring);
	boot_end(ring, rebooted, boot_id);
	consumer_begin(ring);
	K2I_CRASH(ring_begun);
	k2i_space_wake(ring);
	return 0;
}

int k2hft_ring_open(const struct k2hft_ring_options *given, struct k2hft_ring **ring)
{
	K2I_ERRNO_KEPT;
	struct k2hft_ring_options options;
	struct k2hft_ring *opened;
	struct k2i_ring_found found;
	int error = k2i_options_copy(&options, sizeof(options), given);

	if (!error)
		error = options_check(&options);
	if (error)
		return error;
	error = consumer_make(&opened);
	if (error)
		return error;
	opened->descriptor = file_get(&options, &found);
	error = opened->descriptor < 0 ? opened->descriptor : consumer_start(opened, &found);
	if (error) {
		handle_delete(opened);
		return error;
	}
	k2i_ring_unlock(opened->descriptor, K2I_LOCK_OPEN);
	*ring = opened;
	return 0;
}

static int ring_attach(struct k2hft_ring *ring)
{
	struct k2i_ring_header header;
	int error = k2i_ring_identify(ring->descriptor, &header, NULL);

	/* It writes to wake the consumer. */
	if (!error)
		error = k2i_ring_limit_check(K2I_HEADER_BYTES);
	if (error)
		return error;
	if (!k2i_consumer_alive(ring->descriptor, &header))
		return -ENOTCONN;
	error = k2i_ring_map(ring, header.capacity, header.seed);
	if (error)
		return error;
	/* A10 */
	if (atomic_load_explicit(&ring->header->consumer, memory_order_acquire) == 0)
		return -ENOTCONN;
	/* Nobody else would clear away those who were killed before all places are wanted, and they count as producers. */
	k2i_slots_sweep(ring);
	ring->attachment = k2i_slot_take(ring);
	if (!ring->attachment)
		return -ENOSPC;
	/* relaxed: for statistics only. */
	atomic_store_explicit(&ring->attachment->attachment, 1, memory_order_relaxed);
	return 0;
}

/*
 * Never one of the standard ones, should the program have been started without them: the first that it says there would be
 * written over the header. A consumer opens others before.
 */
static int file_open(const char *path)
{
	int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), raised;

	if (descriptor < 0)
		return -errno;
	if (descriptor > STDERR_FILENO)
		return descriptor;
	raised = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (raised < 0)
		raised = -errno;
	(void)close(descriptor);
	return raised;
}

int k2hft_ring_attach(const char *path, struct k2hft_ring **ring)
{
	K2I_ERRNO_KEPT;
	struct k2hft_ring *attached = handle_new();
	int error;

	if (!attached)
		return -ENOMEM;
	attached->descriptor = file_open(path);
	error = attached->descriptor < 0 ? attached->descriptor : ring_attach(attached);
	if (error)
		handle_delete(attached);
	else
		*ring = attached;
	return error;
}

void k2hft_ring_close(struct k2hft_ring *ring)
{
	K2I_ERRNO_KEPT;

	if (!ring)
		return;
	if (ring->attachment)
		k2i_slot_free(ring->attachment);
	if (ring->consumer) {
		K2I_CRASH(ring_close_before);
		/* relaxed: R10 follows. */
		atomic_store_explicit(&ring->header->clean, 1, memory_order_relaxed);
		/* R10 */
		atomic_store_explicit(&ring->header->consumer, 0, memory_order_release);
		/* A child that has the descriptor would keep it: the next consumer would have the place, but not the lock. */
		k2i_ring_unlock(ring->descriptor, K2I_LOCK_CONSUMER);
		K2I_CRASH(ring_closed);
	}
	handle_delete(ring);
}

int k2hft_ring_descriptor(const struct k2hft_ring *ring)
{
	return ring->descriptor;
}

/* A descriptor with a lock of its own: the ring's would give up its lock with the ring. */
int k2hft_ring_keep(const struct k2hft_ring *ring)
{
	K2I_ERRNO_KEPT;
	char link[32];
	int descriptor;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", ring->descriptor);
	descriptor = open(link, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (descriptor < 0)
		return -errno;
	/* A lock that somebody else has keeps the ring as well. */
	(void)k2i_ring_lock_try(descriptor, K2I_LOCK_KEPT);
	return descriptor;
}

uint64_t k2i_ring_bytes(const struct k2hft_ring *ring)
{
	return ring->capacity;
}

bool k2i_ring_own(const struct k2hft_ring *ring)
{
	return ring->process.owner >> 32 == (uint64_t)getpid();
}

bool k2i_ring_client_enter(struct k2hft_ring *ring)
{
	/* A14 */
	return !atomic_exchange_explicit(&ring->has_client, true, memory_order_acquire);
}

void k2i_ring_client_leave(struct k2hft_ring *ring)
{
	/* R14 */
	atomic_store_explicit(&ring->has_client, false, memory_order_release);
}

void *k2hft_ring_memory(const struct k2hft_ring *ring, size_t *bytes)
{
	*bytes = (size_t)(2 * k2i_data_bytes(ring->capacity));
	return ring->data;
}
