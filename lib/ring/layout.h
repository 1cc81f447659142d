/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_LAYOUT_H
#define K2I_RING_LAYOUT_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/ring.h>

#include "base/bits.h"
#include "frame/wire.h"
#include "ring/ring.h"

/*
 * The memory that processes share. Native byte order, except the entries, which go over the wire. Nothing here may
 * change without a new K2I_RING_LAYOUT; additions of a newer version go into the spare bytes and have a bit in one of
 * the feature words.
 */
#define K2I_RING_MAGIC UINT64_C(0x01676e697254464b) /* a file of the other byte order has another one */
#define K2I_RING_LAYOUT 2u
#define K2I_RING_FEATURE_COUNTS UINT64_C(1) /* of the compatible ones */
#define K2I_RING_FEATURE_RECEIVERS UINT64_C(2)
#define K2I_RING_FEATURE_ARCHIVE UINT64_C(4)
#define K2I_RING_FEATURE_CONNECTION UINT64_C(8)
#define K2I_SLOT_COUNT 1024u

/* Two lines of 64 bytes: processors fetch them in pairs, so one line alone does not keep writers apart. */
#define K2I_LINE_BYTES 128

#define K2I_RING_COUNT_ROOM 64u
#define K2I_RING_RECEIVERS_WORDS 30u
#define K2I_RING_CONNECTION_WORDS 72u

struct k2i_ring_header {
	/* Written before anybody else can see the ring, never after; but for the uuid of one that turns out to be a copy. */
	uint64_t magic;
	uint32_t layout;
	uint32_t slot_count;
	uint64_t features_compatible;   /* unknown bits do not matter */
	uint64_t features_incompatible; /* an unknown bit: -EPROTO */
	uint64_t capacity;              /* bytes of data, a power of two */
	uint64_t data_at;               /* offset of the data in the file */
	uint64_t seed;                  /* of the marks' tags */
	_Atomic uint64_t uuid[2];
	uint32_t stream_count;
	uint32_t stream_bytes;

	/* Claimed by producers: the place of the next claim, as k2i_entry_at. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t tail;

	/* Seldom written by producers. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t give_backs; /* claims that went back into the free room whole */
	_Atomic uint32_t slots_used;                         /* no slot from here on was ever taken */

	/* Written by the consumer. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t head; /* a place */
	_Atomic uint64_t acked;                        /* a place */
	_Atomic uint64_t read;                         /* a place */
	_Atomic uint64_t acked_records;
	_Atomic uint64_t discarded_claims; /* of dead producers */
	_Atomic uint64_t damaged_bytes;
	_Atomic uint64_t damaged_from, damaged_to; /* around what was damaged last */
	_Atomic uint64_t opened_at;                /* as k2i_ring_opened_at, | 1; 0: a receiver has heard of it since */

	/* Read by producers at each commit. */
	alignas(K2I_LINE_BYTES) _Atomic uint32_t sleeping; /* 0: awake; else the sleep's number */

	/* Producers that wait for room. */
	alignas(K2I_LINE_BYTES) _Atomic uint32_t space_sequence; /* futex */
	_Atomic uint32_t space_waiters;

	/* The consumer's process. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t consumer; /* as k2i_slot.owner; 0: none */
	_Atomic uint64_t consumer_namespace;
	_Atomic uint64_t epoch;
	_Atomic uint32_t clean;
	uint8_t knock; /* written through the descriptor to wake the consumer, see wake.c */
	uint8_t spare[3];
	uint8_t boot_id[16];
	_Atomic uint64_t place; /* of the file, as k2i_ring_place; 0: not known */
	/* Chunks that end at before_end or below are named by these; see name.c. */
	_Atomic uint64_t before_uuid[2], before_epoch, before_end;
	_Atomic uint64_t begins; /* nothing below has the name of now */

	/* The table of streams; changed under its lock. */
	alignas(K2I_LINE_BYTES) _Atomic uint32_t streams_used; /* no stream from here on was ever declared */
	_Atomic uint64_t streams_locked;                       /* by a process, as k2i_slot.owner; 0: by none */

	/* K2I_RING_FEATURE_COUNTS: only ever added to, by anybody. A version without it leaves them as they are. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t counts[K2I_RING_COUNT_ROOM];

	/* K2I_RING_FEATURE_RECEIVERS: two copies, see receivers.c. Written by the consumer. */
	struct {
		alignas(K2I_LINE_BYTES) _Atomic uint64_t words[K2I_RING_RECEIVERS_WORDS];
	} receivers[2];

	/* K2I_RING_FEATURE_ARCHIVE: see archive.c. Written by the consumer. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t archived; /* a position, and in its lowest bit which file counts */
	struct k2i_ring_archived {
		_Atomic uint64_t device, inode, bytes;
	} archive[2];

	/* K2I_RING_FEATURE_CONNECTION: see connection.c. Written by the consumer. */
	alignas(K2I_LINE_BYTES) _Atomic uint64_t connection_acked_ns;
	_Atomic uint64_t connection[K2I_RING_CONNECTION_WORDS];
};

/*
 * A producer's place. `owner` is the process: pid in the high half, low half of its start time (clock ticks since boot)
 * in the low one. The counters belong to the place and not to the producer, so they only grow.
 */
struct k2i_slot {
	_Atomic uint64_t owner;
	_Atomic uint64_t owner_namespace; /* of pids and clocks; 0: not written yet */
	_Atomic uint64_t claim;           /* place | 1 of the claim that it makes or has; 0: none */
	_Atomic uint64_t rear;            /* place | 1 of the end of it that it gives back; 0: none */
	_Atomic uint64_t committed_records;
	_Atomic uint64_t committed_bytes;
	uint64_t spare;
	_Atomic uint64_t attachment; /* 1: stands for a process that is attached, not for a producer */
};

struct k2i_stream {
	_Atomic uint32_t declared; /* 1 once it has been, for ever */
	_Atomic uint32_t references;
	_Atomic uint32_t generation; /* odd while it is being written */
	uint32_t mode;
	_Atomic uint64_t released_at; /* tail when the last reference with a chunk went */
	uint64_t hash;
	_Atomic uint64_t declarer; /* as k2i_slot.owner, who has all references; 0: several, or nobody knows */
	_Atomic uint64_t declarer_namespace;
	_Atomic uint64_t declared_at; /* tail when it got this name; chunks before it are of another stream */
	uint32_t spare[2];
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
};

/* A chunk's header, frame/wire.h, as the words that the ring writes. A gap needs only the mark. */
struct k2i_entry {
	_Atomic uint64_t mark;
	_Atomic uint64_t stream_records;
	_Atomic uint64_t time_ns;
	_Atomic uint64_t rest;
};

#define K2I_HEADER_BYTES 4096u
#define K2I_SLOTS_AT K2I_HEADER_BYTES
#define K2I_STREAMS_AT (K2I_SLOTS_AT + K2I_SLOT_COUNT * sizeof(struct k2i_slot))
#define K2I_PAGE_BYTES_MAX 65536u /* the data begin at a page of any system */
#define K2I_DATA_AT                                                                                                    \
	((K2I_STREAMS_AT + K2HFT_STREAM_COUNT_MAX * sizeof(struct k2i_stream) + K2I_PAGE_BYTES_MAX - 1) &              \
	 ~(uint64_t)(K2I_PAGE_BYTES_MAX - 1))

/*
 * The areas of the data, by number: all of RINGSIZE, and behind it in the file two small ones, which alone are used while
 * the consumer keeps up: caches hold them. A ring has an area that is a quarter of it at most.
 */
#define K2I_AREA_ALL 0u
#define K2I_AREA_COUNT 3u
#ifdef K2I_CRASH_POINTS /* switches come by often */
#define K2I_AREA_1_BYTES UINT64_C(0x10000)
#define K2I_AREA_2_BYTES UINT64_C(0x100000)
#else
#define K2I_AREA_1_BYTES UINT64_C(0x200000)
#define K2I_AREA_2_BYTES UINT64_C(0x800000)
#endif

static inline uint64_t k2i_area_bytes(uint64_t capacity, unsigned area)
{
	uint64_t bytes = area == 1 ? K2I_AREA_1_BYTES : K2I_AREA_2_BYTES;

	if (area == K2I_AREA_ALL)
		return capacity;
	return area < K2I_AREA_COUNT && bytes <= capacity / 4 ? bytes : 0;
}

/* All areas together. */
static inline uint64_t k2i_data_bytes(uint64_t capacity)
{
	return capacity + k2i_area_bytes(capacity, 1) + k2i_area_bytes(capacity, 2);
}

/* A longer run of gap is a row of entries. */
#define K2I_GAP_BYTES_MAX (128u * 1024 * 1024)

static_assert(sizeof(struct k2i_ring_header) <= K2I_HEADER_BYTES, "header page");
static_assert(offsetof(struct k2i_ring_header, tail) == 1 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, give_backs) == 2 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, head) == 3 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, sleeping) == 4 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, space_sequence) == 5 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, consumer) == 6 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, knock) == 6 * K2I_LINE_BYTES + 28, "layout 2");
static_assert(offsetof(struct k2i_ring_header, boot_id) == 6 * K2I_LINE_BYTES + 32, "layout 2");
static_assert(offsetof(struct k2i_ring_header, place) == 6 * K2I_LINE_BYTES + 48, "layout 2");
static_assert(offsetof(struct k2i_ring_header, streams_used) == 7 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, counts) == 8 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, receivers) == 12 * K2I_LINE_BYTES, "layout 2");
static_assert(offsetof(struct k2i_ring_header, archived) == 16 * K2I_LINE_BYTES, "layout 2");
static_assert(K2I_RING_COUNT_COUNT <= K2I_RING_COUNT_ROOM, "room for every count");
static_assert(offsetof(struct k2i_ring_header, uuid) == 56, "layout 2");
static_assert(sizeof(struct k2i_slot) == 64, "a slot is a line");
static_assert(sizeof(struct k2i_stream) == 1344, "layout 2");
static_assert(offsetof(struct k2i_stream, path) == 64, "layout 2");
static_assert(sizeof(struct k2i_entry) == K2HFT_CHUNK_HEADER_BYTES, "an entry's header is a chunk's");
static_assert(offsetof(struct k2i_entry, stream_records) == K2I_CHUNK_STREAM_AT, "wire");
static_assert(offsetof(struct k2i_entry, time_ns) == K2I_CHUNK_TIME_AT, "wire");
static_assert(offsetof(struct k2i_entry, rest) == K2I_CHUNK_PID_AT, "wire");
static_assert(K2I_DATA_AT % K2I_PAGE_BYTES_MAX == 0, "data begin at a page");
static_assert((K2HFT_RING_BYTES_MIN & (K2HFT_RING_BYTES_MIN - 1)) == 0, "capacities are powers of two");
static_assert(K2HFT_RING_BYTES_MIN % K2I_PAGE_BYTES_MAX == 0, "the data end at a page");
static_assert((K2HFT_RING_BYTES_MAX & (K2HFT_RING_BYTES_MAX - 1)) == 0, "capacities are powers of two");
static_assert(K2HFT_CHUNK_BYTES_MAX <= K2I_MARK_SIZE_MASK && K2I_GAP_BYTES_MAX <= K2I_MARK_SIZE_MASK, "mark");
static_assert(K2HFT_RING_BYTES_DEFAULT >= K2HFT_RING_BYTES_MIN, "default");
static_assert(K2I_AREA_1_BYTES % K2I_PAGE_BYTES_MAX == 0 && K2I_AREA_2_BYTES % K2I_PAGE_BYTES_MAX == 0,
	      "areas are pages");
static_assert(K2I_AREA_2_BYTES <= K2I_GAP_BYTES_MAX, "a gap in a small area is one entry");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "processes share these words");

#endif
