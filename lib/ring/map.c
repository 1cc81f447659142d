/* SPDX-License-Identifier: MIT */
#include "ring/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Addresses for the whole of it, of which none can be used yet; MAP_FAILED as mmap(2). */
static void *addresses_reserve(uint64_t capacity, size_t *all_bytes)
{
	uint64_t bytes = K2I_DATA_AT + 2 * k2i_data_bytes(capacity);

	*all_bytes = (size_t)bytes;
	if (*all_bytes == bytes)
		return mmap(NULL, *all_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* More than there are addresses of 32 bits. */
	errno = ENOMEM;
	return MAP_FAILED;
}

int k2i_ring_map_check(uint64_t capacity)
{
	size_t all_bytes;
	void *base = addresses_reserve(capacity, &all_bytes);

	if (base == MAP_FAILED)
		return -errno;
	(void)munmap(base, all_bytes);
	return 0;
}

static int pages_map(const struct k2hft_ring *ring, uint8_t *at, uint64_t bytes, uint64_t file_at)
{
	void *mapped = mmap(at, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ring->descriptor,
			    (off_t)file_at);

	return mapped == MAP_FAILED ? -errno : 0;
}

static int map_area(const struct k2hft_ring *ring, const struct k2i_area *area)
{
	int error = pages_map(ring, area->data, area->bytes, area->file_at);

	if (!error)
		error = pages_map(ring, area->data + area->bytes, area->bytes, area->file_at);
	/* It shows nothing that the first does not: a core dump would be twice as large. */
	if (!error)
		(void)madvise(area->data + area->bytes, (size_t)area->bytes, MADV_DONTDUMP);
	return error;
}

void k2i_areas_set(struct k2hft_ring *ring)
{
	uint8_t *data = ring->data;
	uint64_t file_at = K2I_DATA_AT;

	for (unsigned at = 0; at < K2I_AREA_COUNT; at++) {
		uint64_t bytes = k2i_area_bytes(ring->capacity, at);

		ring->areas[at] = (struct k2i_area){data, bytes, bytes ? bytes - 8 : 0, file_at};
		data = data ? data + 2 * bytes : NULL;
		file_at += bytes;
	}
	ring->turn = ring->areas[1].bytes ? ring->areas[1].bytes / 2 : UINT64_MAX;
}

/* Room for everything first, so that the second view of an area comes to lie right behind its first. */
static int map_views(struct k2hft_ring *ring)
{
	size_t all_bytes;
	uint8_t *base = addresses_reserve(ring->capacity, &all_bytes);
	int error;

	if (base == MAP_FAILED)
		return -errno;
	ring->header = (struct k2i_ring_header *)(void *)base;
	ring->mapped_bytes = all_bytes;
	ring->data = base + K2I_DATA_AT;
	k2i_areas_set(ring);
	error = pages_map(ring, base, K2I_DATA_AT, 0);
	for (unsigned at = 0; !error && at < K2I_AREA_COUNT; at++)
		error = ring->areas[at].bytes ? map_area(ring, &ring->areas[at]) : 0;
	return error;
}

int k2i_ring_map(struct k2hft_ring *ring, uint64_t capacity, uint64_t seed)
{
	uint8_t *base;
	int error;

	ring->capacity = capacity;
	ring->seed = seed;
	error = map_views(ring);
	if (error)
		return error;
	base = (uint8_t *)ring->header;
	ring->slots = (struct k2i_slot *)(void *)(base + K2I_SLOTS_AT);
	ring->streams = (struct k2i_stream *)(void *)(base + K2I_STREAMS_AT);
	return k2i_process_self(&ring->process);
}

static int random_fill(void *bytes, size_t byte_count)
{
	return getrandom(bytes, byte_count, 0) == (ssize_t)byte_count ? 0 : -EIO;
}

/* A random one of RFC 9562, version 4. */
static int uuid_make(_Atomic uint64_t uuid[2])
{
	uint8_t bytes[16];
	uint64_t words[2];
	int error = random_fill(bytes, sizeof(bytes));

	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	memcpy(words, bytes, sizeof(words));
	/* relaxed, both: for the consumer, who writes them, and for statistics. */
	for (int at = 0; !error && at < 2; at++)
		atomic_store_explicit(&uuid[at], words[at], memory_order_relaxed);
	return error;
}

int k2i_ring_rename(struct k2hft_ring *ring)
{
	/* First: a kill in between leaves a copy that is found to be one again. */
	(void)k2i_ring_receivers_set(ring, &(struct k2i_ring_receivers){.unsettled_count = 0});
	return uuid_make(ring->header->uuid);
}

int k2i_ring_format(int descriptor, uint64_t capacity, uint64_t *seed)
{
	struct k2i_ring_header header = {
		.magic = K2I_RING_MAGIC,
		.layout = K2I_RING_LAYOUT,
		.features_compatible = K2I_RING_FEATURE_COUNTS | K2I_RING_FEATURE_RECEIVERS | K2I_RING_FEATURE_ARCHIVE |
				       K2I_RING_FEATURE_CONNECTION,
		.slot_count = K2I_SLOT_COUNT,
		.capacity = capacity,
		.data_at = K2I_DATA_AT,
		.stream_count = K2HFT_STREAM_COUNT_MAX,
		.stream_bytes = sizeof(struct k2i_stream),
	};
	int error = uuid_make(header.uuid);
	ssize_t bytes;

	if (!error)
		error = random_fill(&header.seed, sizeof(header.seed));
	if (error)
		return error;
	*seed = header.seed;
	bytes = pwrite(descriptor, &header, sizeof(header), 0);
	if (bytes < 0)
		return -errno;
	/* A part of it says nothing in errno, where anything can be from before. */
	return bytes == (ssize_t)sizeof(header) ? 0 : -ENOSPC;
}

static bool identity_valid(const struct k2i_ring_header *header)
{
	return header->magic == K2I_RING_MAGIC && header->layout == K2I_RING_LAYOUT &&
	       header->features_incompatible == 0 && header->slot_count == K2I_SLOT_COUNT &&
	       header->stream_count == K2HFT_STREAM_COUNT_MAX && header->stream_bytes == sizeof(struct k2i_stream) &&
	       header->data_at == K2I_DATA_AT && k2i_power_of_two(header->capacity) &&
	       header->capacity >= K2HFT_RING_BYTES_MIN && header->capacity <= K2HFT_RING_BYTES_MAX;
}

static bool place_possible(const struct k2i_ring_header *header, uint64_t place)
{
	return !(place & 1) && place <= UINT64_MAX / 2 &&
	       k2i_area_bytes(header->capacity, (unsigned)(place & K2I_PLACE_AREA) >> 1);
}

bool k2i_ring_positions_valid(const struct k2i_ring_header *header)
{
	/* relaxed: a copy that nobody shares. */
	uint64_t tail = atomic_load_explicit(&header->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&header->head, memory_order_relaxed);
	uint64_t acked = atomic_load_explicit(&header->acked, memory_order_relaxed);

	/* A consumer that dies while it acknowledges can leave acked above head. */
	return place_possible(header, tail) && place_possible(header, head) && place_possible(header, acked) &&
	       k2i_position(acked) <= tail && k2i_position(head) <= tail &&
	       k2i_position(tail) - k2i_position(head) <= header->capacity;
}

/* Read and not mapped: a file that is too short would answer a look at it with a signal. */
int k2i_ring_identify(int descriptor, struct k2i_ring_header *header, bool *cut)
{
	struct stat file;
	ssize_t bytes;

	if (cut)
		*cut = false;
	if (fstat(descriptor, &file))
		return -errno;
	if (!S_ISREG(file.st_mode))
		return -EPROTO;
	do {
		bytes = pread(descriptor, header, sizeof(*header), 0);
	} while (bytes < 0 && errno == EINTR);
	if (bytes < 0)
		return -errno;
	if (bytes != (ssize_t)sizeof(*header) || !identity_valid(header))
		return -EPROTO;
	if ((uint64_t)file.st_size >= K2I_DATA_AT + k2i_data_bytes(header->capacity))
		return 0;
	if (cut)
		*cut = true;
	return -EPROTO;
}
