/* SPDX-License-Identifier: MIT */
#ifndef K2I_BATCH_BATCH_H
#define K2I_BATCH_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/ring.h>

/*
 * When to cut a frame, what goes into it, and whether it is compressed. Decisions only: no clock, no socket.
 *
 * A frame is aimed at K2I_BATCH_FRAME_BYTES: large enough that the price of a frame at both ends does not matter, small
 * enough that its bytes are still in the processor's cache when they are hashed and sent, and that memory of the ring
 * comes free in small steps.
 */
#define K2I_BATCH_FRAME_BYTES (512u * 1024)

/*
 * A small frame waits while as many as K2I_BATCH_GATHER_FRAMES are on their way already: the next acknowledgement, or
 * the time below, comes soon, and by then the frame has grown. So an idle link sends at once, and a receiver that gets
 * many small writes gets them in fewer frames the busier it is.
 */
#define K2I_BATCH_GATHER_FRAMES 8u
#define K2I_BATCH_GATHER_BYTES (64u * 1024)
#define K2I_BATCH_GATHER_NS UINT64_C(1000000)

struct k2i_batch_limits {
	uint64_t window_end;        /* no chunk may end above this position */
	uint32_t frame_bytes_max;   /* of the body; a chunk that is larger goes alone */
	uint64_t records_max;       /* 0: any */
	uint64_t expired_before_ns; /* chunks written before (CLOCK_REALTIME) are given up; 0: none */
};

/*
 * Chunks that were read from the ring and not taken yet: `span`, and what did not join it because a gap lies between.
 */
struct k2i_batch {
	struct k2hft_span span, behind; /* bytes = 0: none */
	uint64_t read;                  /* the ring's read position: everything was read that ends here or below */
};

/* Nothing is read ahead; the ring's read position is `read`. */
void k2i_batch_reset(struct k2i_batch *batch, uint64_t read);

/*
 * Reads what the ring has, as far as it can go into the next frame. 0; `*claimed` a claim stands in the way; errors as
 * k2hft_ring_read, but only when there is nothing to send before them.
 */
int k2i_batch_fill(struct k2i_batch *batch, struct k2hft_ring *ring, const struct k2i_batch_limits *limits,
		   int *claimed);

enum k2i_batch_kind {
	K2I_BATCH_EMPTY,   /* there is nothing */
	K2I_BATCH_WINDOW,  /* the next chunk would go beyond the window */
	K2I_BATCH_CHUNKS,  /* `cut` is to be sent */
	K2I_BATCH_EXPIRED, /* `cut` is too old */
};

/* The run of chunks that is next. It stays in the batch. 0, or -EBADMSG: it is not well formed. */
int k2i_batch_cut(const struct k2i_batch *batch, const struct k2i_batch_limits *limits, enum k2i_batch_kind *kind,
		  struct k2hft_span *cut);

/* Leaves in `cut` only its first `bytes`, which must be where a chunk ends. -EBADMSG: it is not. */
int k2i_batch_shorten(struct k2hft_span *cut, size_t bytes);

/* `cut`, shortened or not, is no longer in the batch. */
void k2i_batch_take(struct k2i_batch *batch, const struct k2hft_span *cut);

/*
 * Whether `cut` had better wait to grow: it is small, enough is on the way, and nothing lies behind it that could not
 * join it. `since_last_ns` is the time since the last frame was cut.
 */
bool k2i_batch_gather(const struct k2i_batch *batch, const struct k2hft_span *cut, size_t frames_on_the_way,
		      uint64_t since_last_ns);

/* Facts of a chunk that its header alone tells; enough to walk a span. */
struct k2i_chunk_glance {
	size_t bytes; /* to the next one */
	uint32_t stream_id;
	uint32_t record_count;
	uint64_t time_ns;
};

/* The chunk at byte `at` of a span; -EBADMSG its length can't be: other processes write there too. */
int k2i_chunk_glance(const struct k2hft_span *span, size_t at, struct k2i_chunk_glance *glance);

/*
 * Whether the network is slower than LZ4 would be: how long bytes waited in a socket that was full. All zero at first.
 */
struct k2i_link {
	uint64_t busy_since_ns;   /* the socket is full since; 0: it is not */
	uint64_t busy_bytes;      /* it took since then */
	uint64_t peer_limited_ns; /* k2i_transport_peer_limited_ns when it was judged last, which can be long before */
	uint32_t slow_count;      /* measurements that found it slow, less those that did not */
	uint64_t slow_until_ns;   /* the verdict, which outlasts short pauses */
	uint64_t trial_at_ns;     /* do not compress before: it did not shrink */
};

void k2i_link_sent(struct k2i_link *link, size_t bytes);
void k2i_link_full(struct k2i_link *link, uint64_t now_ns);
void k2i_link_idle(struct k2i_link *link);
/* Whether k2i_link_judge has enough to go by. */
bool k2i_link_measured(const struct k2i_link *link, uint64_t now_ns);
void k2i_link_judge(struct k2i_link *link, uint64_t peer_limited_ns, uint64_t now_ns);

/* `mode` is K2HFT_COMPRESS_*. */
bool k2i_link_compress(const struct k2i_link *link, uint32_t mode, uint64_t now_ns);
void k2i_link_compressed(struct k2i_link *link, size_t raw_bytes, size_t compressed_bytes, uint64_t now_ns);

#endif
