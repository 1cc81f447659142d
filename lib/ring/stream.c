/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/frame.h>

#include "base/caller.h"
#include "base/hash.h"
#include "base/text.h"

/*
 * The table of streams in the ring. Declarers exclude each other (table_lock.c). A release takes no lock, so it waits
 * for nobody, nor does the consumer's look at a stream. A stream that nobody has declared any more keeps its number
 * until the head has passed the tail of that moment, or come to the tail: then none of its chunks is left.
 *
 * A process that is attached can end without releasing: what it alone had declared is taken back when a number is wanted
 * and none is free. The consumer's own declarations stay: its successor may go on with them and release them.
 */

/* The consumer's copy of a stream: it stays as it is, whatever other processes write. */
struct k2i_stream_copy {
	uint32_t generation, mode;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
};

static uint32_t streams_used(const struct k2hft_ring *ring)
{
	/* relaxed: a stream that is in a chunk was declared before, and R1 of the chunk shows all of that. */
	uint32_t used = atomic_load_explicit(&ring->header->streams_used, memory_order_relaxed);

	return used < K2HFT_STREAM_COUNT_MAX ? used : K2HFT_STREAM_COUNT_MAX;
}

static uint32_t stream_references(struct k2i_stream *stream)
{
	/* relaxed: changed under the lock; elsewhere a count that may be old, but for who has one of them. */
	return atomic_load_explicit(&stream->references, memory_order_relaxed);
}

/* Whether the number can be given away. */
static bool stream_free(const struct k2hft_ring *ring, struct k2i_stream *stream)
{
	uint64_t head;

	/* A12, A4: with the head come the acknowledgements of all chunks below. */
	if (atomic_load_explicit(&stream->references, memory_order_acquire))
		return false;
	head = k2i_position(atomic_load_explicit(&ring->header->head, memory_order_acquire));
	/*
	 * relaxed: the tail of that moment comes with A12, and so does that of its chunks, behind which it never goes back.
	 * It can have gone back behind claims of others.
	 */
	return head >= atomic_load_explicit(&stream->released_at, memory_order_relaxed) ||
	       head >= k2i_position(atomic_load_explicit(&ring->header->tail, memory_order_relaxed));
}

bool k2i_stream_referenced(const struct k2hft_ring *ring, uint32_t stream_id)
{
	return stream_id != 0 && stream_id <= K2HFT_STREAM_COUNT_MAX &&
	       stream_references(&ring->streams[stream_id - 1]) != 0;
}

unsigned k2i_streams_declared(const struct k2hft_ring *ring)
{
	unsigned declared = 0;
	uint32_t used = streams_used(ring);

	for (uint32_t at = 0; at < used; at++)
		declared += stream_references(&ring->streams[at]) != 0;
	return declared;
}

/* false: there are not so many. */
static bool references_drop(struct k2i_stream *stream, uint32_t count)
{
	uint32_t before = stream_references(stream);

	do {
		if (before < count)
			return false;
		/* R12. relaxed on failure: tried again with what is there. */
	} while (!atomic_compare_exchange_weak_explicit(&stream->references, &before, before - count,
							memory_order_release, memory_order_relaxed));
	return true;
}

/* Several release at once: the furthest tail counts. */
static void released_at_raise(struct k2i_stream *stream, uint64_t tail)
{
	/* relaxed: R12 follows, and is one word for all who release. */
	uint64_t before = atomic_load_explicit(&stream->released_at, memory_order_relaxed);

	while (before < tail && !atomic_compare_exchange_weak_explicit(&stream->released_at, &before, tail,
								       memory_order_relaxed, memory_order_relaxed))
		continue;
}

static bool references_end(struct k2hft_ring *ring, struct k2i_stream *stream, uint32_t count)
{
	/* A2: not before any chunk that those who had it have committed. */
	released_at_raise(stream, k2i_position(atomic_load_explicit(&ring->header->tail, memory_order_acquire)));
	return references_drop(stream, count);
}

void k2i_streams_forget(struct k2hft_ring *ring)
{
	uint32_t used = streams_used(ring);

	ring->streams_forgotten = true;
	for (uint32_t at = 0; at < used; at++) {
		uint32_t all = stream_references(&ring->streams[at]);

		if (all)
			(void)references_end(ring, &ring->streams[at], all);
	}
}

/* Odd while it is being written; so it stays if the writer dies. */
static bool generation_whole(uint32_t generation)
{
	return generation % 2 == 0;
}

static bool stream_same(struct k2i_stream *known, const struct k2hft_stream *stream, uint64_t hash)
{
	/* relaxed: under the lock. */
	if (!generation_whole(atomic_load_explicit(&known->generation, memory_order_relaxed)))
		return false;
	return known->hash == hash && known->mode == stream->mode &&
	       strncmp(known->path, stream->path, sizeof(known->path)) == 0 &&
	       strncmp(known->host, stream->host, sizeof(known->host)) == 0;
}

/* The process that has all references; owner 0: several have, or nobody knows. */
static struct k2i_process stream_declarer(struct k2i_stream *stream)
{
	/* relaxed: changed under the lock, or when the ring is being opened. */
	return (struct k2i_process){
		.owner = atomic_load_explicit(&stream->declarer, memory_order_relaxed),
		.namespace = atomic_load_explicit(&stream->declarer_namespace, memory_order_relaxed),
	};
}

static const struct k2i_process several;

static void declarer_set(struct k2i_stream *stream, const struct k2i_process *process)
{
	/* relaxed: as above. */
	atomic_store_explicit(&stream->declarer_namespace, process->namespace, memory_order_relaxed);
	atomic_store_explicit(&stream->declarer, process->owner, memory_order_relaxed);
}

static bool same_process(const struct k2i_process *one, const struct k2i_process *other)
{
	return one->owner == other->owner && one->namespace == other->namespace;
}

void k2i_streams_inherit(struct k2hft_ring *ring, const struct k2i_process *before)
{
	uint32_t used = streams_used(ring);

	for (uint32_t at = 0; at < used; at++) {
		struct k2i_process process = stream_declarer(&ring->streams[at]);

		/*
		 * relaxed: as above. Exchanged, since an attached process can be giving the number to its own stream.
		 */
		if (process.owner && same_process(&process, before))
			(void)atomic_compare_exchange_strong_explicit(&ring->streams[at].declarer, &process.owner, 0,
								      memory_order_relaxed, memory_order_relaxed);
	}
}

/* Whether nobody is left who could release it. */
static bool stream_left(const struct k2hft_ring *ring, struct k2i_stream *stream)
{
	struct k2i_process process = stream_declarer(stream);
	/* relaxed: what one that is being replaced had declared is its successor's before this changes. */
	uint64_t consumer = atomic_load_explicit(&ring->header->consumer, memory_order_relaxed);

	return stream_references(stream) && process.owner && process.owner != consumer &&
	       !k2i_process_alive(&ring->process, &process);
}

/* Adds a reference of this process. */
static void references_add(struct k2hft_ring *ring, struct k2i_stream *stream)
{
	struct k2i_process process = stream_declarer(stream);

	if (!same_process(&process, &ring->process)) {
		if (stream_left(ring, stream))
			(void)references_end(ring, stream, stream_references(stream));
		declarer_set(stream, stream_references(stream) ? &several : &ring->process);
	}
	/* relaxed: under the lock. */
	(void)atomic_fetch_add_explicit(&stream->references, 1, memory_order_relaxed);
}

/* A place that becomes free since who had it is gone; K2HFT_STREAM_COUNT_MAX: none. */
static uint32_t place_take_back(struct k2hft_ring *ring)
{
	uint32_t place = K2HFT_STREAM_COUNT_MAX;

	for (uint32_t at = 0; at < K2HFT_STREAM_COUNT_MAX; at++) {
		if (stream_left(ring, &ring->streams[at]))
			(void)references_end(ring, &ring->streams[at], stream_references(&ring->streams[at]));
		if (place == K2HFT_STREAM_COUNT_MAX && stream_free(ring, &ring->streams[at]))
			place = at;
	}
	return place;
}

/* The stream's place, else a free one; K2HFT_STREAM_COUNT_MAX: neither. */
static uint32_t place_find(const struct k2hft_ring *ring, const struct k2hft_stream *stream, uint64_t hash)
{
	uint32_t used = streams_used(ring), place = used;

	for (uint32_t at = 0; at < used; at++) {
		if (stream_same(&ring->streams[at], stream, hash))
			return at;
		if (place == used && stream_free(ring, &ring->streams[at]))
			place = at;
	}
	return place;
}

static void place_fill(struct k2hft_ring *ring, uint32_t place, const struct k2hft_stream *stream, uint64_t hash)
{
	struct k2i_stream *filled = &ring->streams[place];
	/* relaxed: under the lock. */
	uint32_t generation = atomic_load_explicit(&filled->generation, memory_order_relaxed) | 1;

	/* relaxed: nobody looks for the number before it is in a chunk, R1. */
	atomic_store_explicit(&filled->generation, generation, memory_order_relaxed);
	/* relaxed: under the lock; no reference is left that could be released now. */
	atomic_store_explicit(&filled->released_at, 0, memory_order_relaxed);
	/* relaxed: who reads it looks at the generation before and after. */
	atomic_store_explicit(&filled->declared_at,
			      k2i_position(atomic_load_explicit(&ring->header->tail, memory_order_relaxed)),
			      memory_order_relaxed);
	filled->hash = hash;
	filled->mode = stream->mode;
	memset(filled->path, 0, sizeof(filled->path));
	memset(filled->host, 0, sizeof(filled->host));
	memcpy(filled->path, stream->path, strlen(stream->path));
	memcpy(filled->host, stream->host, strlen(stream->host));
	/* R9 */
	atomic_store_explicit(&filled->generation, generation + 1, memory_order_release);
	/* relaxed: a chunk that carries the number is published later, by R1. */
	atomic_store_explicit(&filled->declared, 1, memory_order_relaxed);
	if (place == streams_used(ring))
		atomic_store_explicit(&ring->header->streams_used, place + 1, memory_order_relaxed);
}

static int stream_check(const struct k2hft_stream *given, struct k2hft_stream *stream)
{
	*stream = *given;
	if (!stream->host)
		stream->host = "";
	if (!stream->path || stream->mode > K2HFT_STREAM_BINARY || stream->reserved ||
	    strnlen(stream->host, K2HFT_STREAM_HOST_BYTES_MAX + 1) > K2HFT_STREAM_HOST_BYTES_MAX ||
	    !k2i_text_plain(stream->host))
		return -EINVAL;
	return k2hft_stream_path_check(stream->path, strnlen(stream->path, K2HFT_STREAM_PATH_BYTES_MAX + 1));
}

int k2hft_stream_declare(struct k2hft_ring *ring, const struct k2hft_stream *given, uint32_t *stream_id)
{
	struct k2hft_stream stream;
	int status = stream_check(given, &stream);
	uint64_t hash;
	uint32_t place;

	if (status)
		return status;
	hash = k2i_hash_pair(stream.path, strlen(stream.path), stream.host, strlen(stream.host)) + stream.mode;
	status = k2i_table_lock(ring);
	if (status)
		return status;
	place = place_find(ring, &stream, hash);
	if (place == K2HFT_STREAM_COUNT_MAX)
		place = place_take_back(ring);
	if (place < K2HFT_STREAM_COUNT_MAX) {
		if (place == streams_used(ring) || !stream_same(&ring->streams[place], &stream, hash))
			place_fill(ring, place, &stream, hash);
		references_add(ring, &ring->streams[place]);
		*stream_id = place + 1;
	}
	k2i_table_unlock(ring);
	return place < K2HFT_STREAM_COUNT_MAX ? 0 : -ENOSPC;
}

static struct k2i_stream *stream_at(const struct k2hft_ring *ring, uint32_t stream_id)
{
	return stream_id != 0 && stream_id <= K2HFT_STREAM_COUNT_MAX ? &ring->streams[stream_id - 1] : NULL;
}

int k2hft_stream_release(struct k2hft_ring *ring, uint32_t stream_id)
{
	struct k2i_stream *stream = stream_at(ring, stream_id);

	return stream && stream_references(stream) && references_end(ring, stream, 1) ? 0 : -EINVAL;
}

int k2hft_stream_withdraw(struct k2hft_ring *ring, uint32_t stream_id)
{
	struct k2i_stream *stream = stream_at(ring, stream_id);

	return stream && references_drop(stream, 1) ? 0 : -EINVAL;
}

/* Copies what was declared, under the mutex only: another process's changes are found by checking the copy. */
static int copy_make(struct k2hft_ring *ring, uint32_t stream_id, uint32_t generation)
{
	struct k2i_stream *stream = &ring->streams[stream_id - 1];
	struct k2i_stream_copy **place = &ring->stream_copies[stream_id - 1];
	struct k2i_stream_copy *copy;
	K2I_ERRNO_KEPT;

	copy = *place ? *place : malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*place = copy;
	copy->generation = generation;
	copy->mode = stream->mode;
	memcpy(copy->path, stream->path, sizeof(copy->path));
	memcpy(copy->host, stream->host, sizeof(copy->host));
	copy->host[sizeof(copy->host) - 1] = '\0';
	if (copy->mode > K2HFT_STREAM_BINARY ||
	    k2hft_stream_path_check(copy->path, strnlen(copy->path, sizeof(copy->path)))) {
		free(copy);
		*place = NULL;
		return -ENOENT;
	}
	return 0;
}

int k2hft_stream_find(struct k2hft_ring *ring, uint32_t stream_id, struct k2hft_stream *stream, uint32_t *generation)
{
	const struct k2i_stream_copy *copy;
	struct k2i_stream *shared;
	uint32_t now;
	int status = 0;

	if (!ring->consumer || !k2i_stream_declared(ring, stream_id))
		return -ENOENT;
	shared = &ring->streams[stream_id - 1];
	if (stream_free(ring, shared))
		return -ENOENT;
	/* A9 */
	now = atomic_load_explicit(&shared->generation, memory_order_acquire);
	if (!generation_whole(now))
		return -ENOENT;
	copy = ring->stream_copies[stream_id - 1];
	if (!copy || copy->generation != now) {
		(void)pthread_mutex_lock(&ring->stream_mutex);
		status = copy_make(ring, stream_id, now);
		(void)pthread_mutex_unlock(&ring->stream_mutex);
		copy = ring->stream_copies[stream_id - 1];
	}
	if (status)
		return status;
	*stream = (struct k2hft_stream){.path = copy->path, .host = copy->host, .mode = copy->mode};
	*generation = now;
	return 0;
}

void k2i_stream_copies_free(struct k2hft_ring *ring)
{
	for (uint32_t at = 0; ring->stream_copies && at < K2HFT_STREAM_COUNT_MAX; at++)
		free(ring->stream_copies[at]);
	free(ring->stream_copies);
}
