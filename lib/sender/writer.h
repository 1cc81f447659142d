/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_WRITER_H
#define K2I_SENDER_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/sender.h>

#include "sender/lane.h"

/*
 * The inside of a writer. It fills a claim of a lane's ring, the open chunk, in place; records in it are not committed yet.
 * seal.c says which thread may touch the open chunk, and how the client's thread gets at it.
 */

/* How large an open chunk is: begins small, so that a writer with little to say takes little of the ring. */
#define K2I_OPEN_BYTES_FIRST 512u
#define K2I_OPEN_BYTES_MAX (64u * 1024)
/* Runs of lines that are handed over at once, and what k2hft push reads at once. */
#define K2I_RUN_BYTES_MAX (256u * 1024)
/* A record longer than this goes on in pieces: LINEMAX. */
#define K2I_PIECE_BYTES_MAX (1024u * 1024)

#define K2I_CACHE_LINE_BYTES 64

/* A writer's place in a lane, in which it is one of the lane's users. */
struct k2i_writer_lane {
	struct k2i_lane *lane;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	/* For copies, see copies.c. */
	void *claim;  /* NULL: none, the lane's copy is dropped */
	bool skips;   /* the record that goes on is dropped there, or was cut off */
	bool end_due; /* such a record's begin is out: its end goes before what follows */
	bool unfit;   /* the record that is about to begin would not find room for all its pieces there */
};

/* Chunks that others have to acknowledge before a writer goes on: of its stream, in a lane that it has left. */
struct k2i_writer_behind {
	struct k2i_lane *lane; /* one of its users */
	uint64_t position;
};

/* Values of a writer's `open` besides a lane's number. */
#define K2I_OPEN_NONE 0u
#define K2I_OPEN_ANY UINT32_MAX /* copies, or the lane is not chosen yet */

struct k2hft_writer {
	/* Both sides: see seal.c. */
	_Alignas(K2I_CACHE_LINE_BYTES) _Atomic(uint32_t) busy; /* its thread is inside a call */
	_Atomic(uint32_t) open; /* the lane of a chunk that is, or is about to be, open */
	bool asymmetric;        /* the cheap side of the handshake may be used */
	bool binary;
	bool continued; /* a line has begun in pieces, and not ended */

	/*
	 * The fields of the thread that has the right to the open chunk. Only `bytes` says how far it is filled, so
	 * that a record moves nothing else on: its next byte goes to begin[bytes - begin_bytes].
	 */
	uint8_t *begin;       /* NULL: no open chunk */
	uint64_t begin_bytes; /* `bytes` when it began */
	uint64_t end_bytes;   /* `bytes` when it will be full; 0: no open chunk */
	size_t open_bytes;    /* size of the open chunk, or of the next */
	uint64_t open_time_ns;

	/* Written by whoever has the right to the open chunk, read by anyone for statistics. */
	_Atomic(uint64_t) records, bytes;  /* accepted */
	_Atomic(uint64_t) sealed_records;  /* of these, not in the open chunk */
	_Atomic(uint64_t) dropped_records; /* not accepted */

	/* The writer's thread only. */
	struct k2hft_sender *sender;
	struct k2i_writer_lane *to; /* where its chunks go; of copies the first */
	uint32_t copy_count;        /* 1; more: from `to` on, to each */
	uint32_t place_count;
	struct k2i_writer_lane *places;
	struct k2i_writer_behind *behind;
	uint32_t behind_count;
	uint32_t lanes_version; /* of the sender's, that the places are from */
	bool excepted;          /* its records are not sent */
	bool draws;             /* K2HFT_SPREAD_RANDOM, of more than one */
	bool record_goes_on;    /* the last chunk ended in the middle of a record: the next one goes after it */
	uint64_t random;
	uint64_t drawn_bytes, drawn_ns; /* `bytes` and time when it last drew */
	char *path;
	uint32_t full; /* as the sender's */
	uint32_t writer_pid;
	_Atomic(bool) announce; /* a chunk was begun in this call: the client may sleep and not know of it */
	bool each_call;         /* attached: what a call wrote is committed by it */
	bool skipping;          /* the rest of a line of which something was dropped */
	bool end_missing;       /* the begin of such a line is out: its end goes before what follows */
	uint64_t looked_s;      /* attached: second, from 1 on, in which it last looked whether anybody sends */
	size_t unsent_bytes;    /* committed at once or in full chunks since this thread last sent */
	uint8_t *tail;          /* what k2hft_writer_lines was given behind the last LF */
	size_t tail_bytes, tail_room;
	uint8_t *reserved; /* k2hft_writer_reserve */
	size_t reserved_bytes;

	/* Under the sender's mutex. */
	struct k2hft_writer *next, *previous;

	/* Written by sealers, seldom: on its own line, so that the writer finds it in its cache. */
	_Alignas(K2I_CACHE_LINE_BYTES) _Atomic(uint64_t) seal_ticket; /* not 0: commit the open chunk */
};

/* A single thread adds, anyone reads: a load and a store are enough, no read-modify-write. */
static inline void k2i_counter_add(_Atomic(uint64_t) *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* Bytes in the open chunk. */
static inline size_t k2i_writer_filled(const struct k2hft_writer *writer)
{
	uint64_t bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed);

	return writer->begin ? (size_t)(bytes - writer->begin_bytes) : 0;
}

/* Bytes that fit behind them. */
static inline size_t k2i_writer_room(const struct k2hft_writer *writer)
{
	uint64_t bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed);

	return writer->begin ? (size_t)(writer->end_bytes - bytes) : 0;
}

/* The bytes that were written behind them. */
static inline void k2i_writer_count_open(struct k2hft_writer *writer, uint64_t records, size_t bytes)
{
	k2i_counter_add(&writer->records, records);
	k2i_counter_add(&writer->bytes, bytes);
}

/* The end of the chunk that the call which took it committed. No chunk is open. */
static inline void k2i_writer_count_sealed(struct k2hft_writer *writer, uint64_t records, uint64_t bytes)
{
	uint64_t sealed = atomic_load_explicit(&writer->sealed_records, memory_order_relaxed);

	k2i_counter_add(&writer->records, records);
	k2i_counter_add(&writer->bytes, bytes);
	atomic_store_explicit(&writer->sealed_records, sealed + records, memory_order_release); /* edge S5 */
}

/* chunk.c. All but seal need k2i_writer_enter before. */

/* Commits the open chunk if there is one; `early`: it was not full. */
void k2i_writer_commit_open(struct k2hft_writer *writer, bool early);
/*
 * An open chunk with room for at least `needed` bytes, at most the sender's piece_bytes_max. 0; -EAGAIN, -EINTR
 * as the sender's K2HFT_FULL_* asks; -ENOBUFS: to be dropped by the caller; -EIO, -EPIPE as k2hft_writer_write.
 */
int k2i_writer_open_chunk(struct k2hft_writer *writer, size_t needed);
/* A chunk from up to two pieces of memory, committed at once behind what is open. `finish`: never -EAGAIN, -EINTR or
 * -ENOBUFS, since the record that it belongs to has begun. */
struct k2i_piece {
	const void *first;
	size_t first_bytes;
	const void *second;
	size_t second_bytes;
	uint32_t record_count;
	uint16_t flags;
	bool finish;
};
int k2i_writer_put(struct k2hft_writer *writer, const struct k2i_piece *piece);
/* A claim of `needed` to `wanted` bytes, which k2hft_producer_commit ends. Errors as k2i_writer_open_chunk's. */
int k2i_writer_claim(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
		     size_t *bytes);
/* Gives it back. */
void k2i_writer_discard_claim(struct k2hft_writer *writer);
/* The first `bytes` of it. */
int k2i_writer_commit_claim(struct k2hft_writer *writer, uint64_t time_ns, uint32_t record_count, uint16_t flags,
			    size_t bytes);
/* Counts and logs what is not taken because of `status`. */
void k2i_writer_drop(struct k2hft_writer *writer, int status, uint64_t record_count);
/* The result of a call of the application: counted and logged unless it is 0. */
int k2i_writer_answer(struct k2hft_writer *writer, int status);

/* copies.c: the same for a writer with copies. */

int k2i_copies_reserve(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
		       size_t *bytes, struct k2i_lane **full);
int k2i_copies_commit(struct k2hft_writer *writer, const struct k2hft_chunk *chunk, size_t bytes);
void k2i_copies_discard(struct k2hft_writer *writer);
/* Looks for room before a record in pieces begins, for a sender that must not wait. 0, -EAGAIN, -ENOBUFS. And its end. */
int k2i_copies_admit(struct k2hft_writer *writer, uint64_t needed);
void k2i_copies_admitted(struct k2hft_writer *writer);
/* Ends records that were cut off, where there is room. Whether none is left. */
bool k2i_copies_end(struct k2hft_writer *writer);

/* places.c */

/* The places of a new writer. Errors as k2hft_stream_declare's and k2hft_producer_open's, -ENOMEM. */
int k2i_writer_places_open(struct k2hft_writer *writer);
void k2i_writer_places_close(struct k2hft_writer *writer);
/*
 * Follows the sender's lanes, if they have changed and the writer is between two records. With the sender's mutex, and the
 * right to the open chunk, of which there is none.
 */
void k2i_writer_places_renew(struct k2hft_writer *writer);
/* The lane of the next chunk, in `to`. -EAGAIN: not before k2i_writer_behind's lane has more acknowledged. */
int k2i_writer_choose(struct k2hft_writer *writer);

/* writer.c */

/* Line ends that closed writers owe, in a lane, NULL: in any; one without room is given up. Whether there were any. */
bool k2i_writers_end_lines(struct k2hft_sender *sender, const struct k2i_lane *lane);

/* text.c */

/* The line end that `end_missing` asks for, if it does. Errors as k2i_writer_put's. */
int k2i_writer_end_put(struct k2hft_writer *writer);
/* Sends what the last text left behind its last LF, as close does. Errors as k2hft_writer_lines's: nothing changed. */
int k2i_writer_tail_end(struct k2hft_writer *writer);
/* Drops it instead, if there is any, because of `status`. If the line is out in pieces, its end is missing then. */
void k2i_writer_tail_drop(struct k2hft_writer *writer, int status);

#endif
