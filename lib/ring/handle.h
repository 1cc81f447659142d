/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_HANDLE_H
#define K2I_RING_HANDLE_H

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>

#include "frame/chunk.h"
#include "ring/layout.h"
#include "ring/ring.h"

/* process.c: which process is meant by an owner word, and whether it lives as far as `process` can tell. */
struct k2i_process {
	uint64_t owner;     /* as k2i_slot.owner */
	uint64_t namespace; /* as k2i_slot.owner_namespace */
};
#define K2I_OWNER_GONE UINT64_C(1) /* no process has pid 0: whoever it was, it is dead */

/* An area of the data, mapped twice in a row. A place can name four; those that the ring has not have no bytes. */
struct k2i_area {
	uint8_t *data;
	uint64_t bytes;   /* a power of two; 0: the ring has none */
	uint64_t mask;    /* of a place: its offset */
	uint64_t file_at; /* offset in the file */
};

/* A process's own side of a ring: nothing here is shared with other processes. */
struct k2hft_ring {
	struct k2i_ring_header *header;
	struct k2i_slot *slots;
	struct k2i_stream *streams;
	uint8_t *data;
	struct k2i_area areas[4];
	uint64_t turn;     /* a claim over a multiple of it looks whether a smaller area will do */
	uint64_t capacity; /* copies: what another process writes into the header later does no harm */
	uint64_t seed;
	size_t mapped_bytes;
	int descriptor;
	bool consumer;
	bool streams_forgotten; /* as in struct k2hft_ring_stats */

	struct k2i_process process;
	struct k2i_slot *attachment; /* NULL for the consumer */

	/* Consumer: its own positions, which it also shows in the header. */
	uint64_t head, acked, read;
	uint64_t head_area, read_area; /* as in a place */
	uint64_t chunk_end;            /* end of the last chunk that was returned: gap_bytes counts from here */
	uint64_t tail_seen;
	uint32_t sleep_number;                                /* of the last sleep, never 0 */
	bool claim_told;                                      /* the last read found a claim in its way */
	int wake_epoll, wake_event, wake_inotify, wake_timer; /* -1: none */
	struct k2i_stream_copy **stream_copies;

	_Atomic uint64_t limit; /* position | 1 that the consumer does not pass; 0: none */
	_Atomic bool has_client;
	_Atomic bool abandoned;       /* once k2i_ring_abandoned has found it so */
	pthread_mutex_t stream_mutex; /* of declarers in this process, and while stream_copies changes */
};

struct k2hft_producer {
	struct k2hft_ring *ring;
	struct k2i_slot *slot;
	uint64_t place, size; /* of the claim; size 0: none */
	size_t bytes;         /* of its payload */
	size_t bytes_max;
	uint64_t head_seen;
	uint64_t committed_records, committed_bytes;
};

static inline size_t k2i_payload_bytes_max(const struct k2hft_ring *ring)
{
	uint64_t quarter = ring->capacity / 4;

	return (size_t)(quarter < K2HFT_CHUNK_BYTES_MAX ? quarter : K2HFT_CHUNK_BYTES_MAX) - K2HFT_CHUNK_HEADER_BYTES;
}

/*
 * A place is a position, in whose low bits, which are free, stands the area that its memory is in. Both are one word,
 * so that whoever claims learns both at once. Only at a claim the tail gets another area: a position has one for ever.
 */
#define K2I_PLACE_AREA UINT64_C(6)

static inline uint64_t k2i_position(uint64_t place)
{
	return k2i_align_down(place, 8);
}

static inline const struct k2i_area *k2i_area_of(const struct k2hft_ring *ring, uint64_t place)
{
	return &ring->areas[(place & K2I_PLACE_AREA) >> 1];
}

static inline struct k2i_entry *k2i_entry_at(const struct k2hft_ring *ring, uint64_t place)
{
	const struct k2i_area *area = k2i_area_of(ring, place);

	return (struct k2i_entry *)(void *)(area->data + (place & area->mask));
}

/* The place behind an entry. */
static inline uint64_t k2i_place_behind(uint64_t place, unsigned kind, uint64_t size)
{
	if (kind < K2I_KIND_SWITCH)
		return place + size;
	return k2i_position(place + size) | (uint64_t)(kind - K2I_KIND_SWITCH) << 1;
}

/*
 * Whether a tail can be at the place: what is claimed is within the area's bytes from the head. The low bits count: in a
 * small area there is always room for the 8 bytes of a switch.
 */
static inline bool k2i_place_valid(const struct k2hft_ring *ring, uint64_t head, uint64_t place)
{
	return place - head <= k2i_area_of(ring, place)->bytes && !(place & 1);
}

/* The same of the place behind an entry of `kind`, which is in the memory of its own area. */
static inline bool k2i_entry_valid(const struct k2hft_ring *ring, uint64_t head, uint64_t place, unsigned kind,
				   uint64_t behind)
{
	return k2i_place_valid(ring, head, behind) &&
	       (kind < K2I_KIND_SWITCH || k2i_position(behind) - head <= k2i_area_of(ring, place)->bytes);
}

/*
 * The tag makes a mark valid at one position of one ring only: neither what an earlier lap left nor payload can be taken
 * for one, and nothing needs to be cleared before it is claimed.
 */
static inline uint64_t k2i_mark_tag(const struct k2hft_ring *ring, uint64_t place)
{
	return ((place ^ ring->seed) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static inline uint64_t k2i_mark_make(const struct k2hft_ring *ring, uint64_t place, unsigned kind, uint64_t size)
{
	return htole64(k2i_mark_tag(ring, place) << K2I_MARK_TAG_SHIFT | (uint64_t)kind << K2I_MARK_KIND_SHIFT | size);
}

/* Kind of the mark word `mark` at `place`, and the entry's size; 0: it is no mark. */
unsigned k2i_mark_read(const struct k2hft_ring *ring, uint64_t place, uint64_t mark, uint64_t *size);
static inline bool k2i_kind_gap(unsigned kind)
{
	return kind >= K2I_KIND_GAP;
}

/*
 * Reads the header of the chunk of `size` at `place`, and checks it. Returns the bytes of its payload; 0: it says what no
 * chunk can.
 */
uint64_t k2i_chunk_read(const struct k2hft_ring *ring, uint64_t place, uint64_t size, struct k2i_chunk_fields *fields);

/* The tail, for a walk that begins at or above the consumer's head: never further than a lap from it. */
uint64_t k2i_tail_place(const struct k2hft_ring *ring);
static inline uint64_t k2i_tail_load(const struct k2hft_ring *ring)
{
	return k2i_position(k2i_tail_place(ring));
}

static inline uint64_t k2i_read_place(const struct k2hft_ring *ring)
{
	return ring->read | ring->read_area;
}

static inline uint64_t k2i_head_place(const struct k2hft_ring *ring)
{
	return ring->head | ring->head_area;
}

/* Sizes and places in the file of the areas of a ring of `ring->capacity`, whose data are mapped at `ring->data`, or not. */
void k2i_areas_set(struct k2hft_ring *ring);

/* process.c: 0 or -errno. */
int k2i_process_self(struct k2i_process *process);
bool k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other);

/* slot.c */
struct k2i_slot *k2i_slot_take(struct k2hft_ring *ring);
void k2i_slot_free(struct k2i_slot *slot);
unsigned k2i_slots_used(const struct k2hft_ring *ring);
unsigned k2i_slots_live(const struct k2hft_ring *ring);
/* Whether a process that is `owner`, and alive, has a slot. */
bool k2i_slot_held_by(const struct k2hft_ring *ring, uint64_t owner);
void k2i_slots_sweep(struct k2hft_ring *ring);
/* For a new consumer: places of processes that are gone, or of the consumer before, are marked so for good. */
void k2i_slots_inherit(struct k2hft_ring *ring, const struct k2i_process *before, bool rebooted);

/* The owner of a claim at a position, also of one that is being made. ring.c says how owners are looked for. */
enum k2i_owner { K2I_OWNER_NONE, K2I_OWNER_DEAD, K2I_OWNER_LIVE };
/* `*dead` tells one set of dead owners from another; 0: none. */
enum k2i_owner k2i_owner_find(const struct k2hft_ring *ring, uint64_t position, uint64_t *dead);
bool k2i_position_claimed(const struct k2hft_ring *ring, uint64_t position);
/* The lowest place behind `place` and before `limit` where a live producer has or makes a claim, else `limit`. */
uint64_t k2i_live_claim_next(const struct k2hft_ring *ring, uint64_t head, uint64_t place, uint64_t limit);

/* repair.c: takes marks out of the room that nobody has claimed, where a power cut can have left some. */
void k2i_free_room_clear(struct k2hft_ring *ring);
/* The end of the last chunk in front of which no entry is missing, nor a claim that never becomes a chunk. */
uint64_t k2i_ring_sound_end(const struct k2hft_ring *ring);
/* Takes out the mark of the entry whose end the file lost when it was cut to `file_bytes`. */
void k2i_cut_entry_clear(struct k2hft_ring *ring, uint64_t file_bytes);
/* wake.c: open takes what is needed, before there is a file; watch is for when there is one. 0 or -errno. */
int k2i_wake_open(struct k2hft_ring *ring);
int k2i_wake_watch(struct k2hft_ring *ring);
void k2i_wake_close(struct k2hft_ring *ring);
void k2i_wake_arm(struct k2hft_ring *ring);
void k2i_consumer_wake(struct k2hft_ring *ring);
void k2i_space_wake(struct k2hft_ring *ring);

/* lock.c: locks in the file, which end with the process. 0 or -errno. */
/* Waits for up to a second. -EBUSY: somebody keeps the lock, which the log tells of the file `path`. */
int k2i_ring_lock(int descriptor, unsigned lock, const char *path);
int k2i_ring_lock_try(int descriptor, unsigned lock);
void k2i_ring_unlock(int descriptor, unsigned lock);
bool k2i_ring_locked(int descriptor, unsigned lock);
#define K2I_LOCK_CONSUMER 0u /* for as long as it is the consumer */
#define K2I_LOCK_OPEN 1u     /* while becoming it */
#define K2I_LOCK_KEPT 3u     /* k2hft_ring_keep */

/* table_lock.c: excludes other declarers. 0; -EBUSY one of them is stopped. */
int k2i_table_lock(struct k2hft_ring *ring);
void k2i_table_unlock(struct k2hft_ring *ring);

/* Whether the stream ever was declared, as each of a chunk was. */
static inline bool k2i_stream_declared(const struct k2hft_ring *ring, uint32_t stream_id)
{
	if (stream_id == 0 || stream_id > K2HFT_STREAM_COUNT_MAX)
		return false;
	/* relaxed: asked for the stream of a chunk, which was declared before R1 of that chunk. */
	return atomic_load_explicit(&ring->streams[stream_id - 1].declared, memory_order_relaxed) == 1;
}

/* stream.c: whether somebody has the stream declared now, as each producer must that commits a chunk of it. */
bool k2i_stream_referenced(const struct k2hft_ring *ring, uint32_t stream_id);
unsigned k2i_streams_declared(const struct k2hft_ring *ring);
void k2i_streams_forget(struct k2hft_ring *ring);
/* For a new consumer: what the one before has declared is not taken back, since this one may go on with it. */
void k2i_streams_inherit(struct k2hft_ring *ring, const struct k2i_process *before);
void k2i_stream_copies_free(struct k2hft_ring *ring);

#endif
