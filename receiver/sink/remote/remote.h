/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_REMOTE_REMOTE_H
#define K2I_RECEIVER_SINK_REMOTE_REMOTE_H

#include "receiver/sink/pending.h"
#include "receiver/sink/sink.h"

/*
 * A sink whose destination is another machine: records are copied into a queue of bounded size, and one thread delivers
 * them in their order, for as long as it takes. A kind of such sinks has but the delivery.
 */
#define K2I_REMOTE_REASON_BYTES 256u

enum k2i_remote_fate { K2I_REMOTE_LEFT, K2I_REMOTE_STORED, K2I_REMOTE_REFUSED };

/* Records that a chunk brought. A record that several chunks brought is a piece of its own, and the last one's. */
struct k2i_remote_piece {
	struct k2i_remote_piece *next;
	struct k2i_pending_group *group;
	uint8_t ring[16];
	/* The chunk's, or one more, of the second piece: no other chunk begins there. It names the piece for all time. */
	uint64_t position;
	struct k2i_format_origin origin; /* the strings stand behind the records */
	bool binary;                     /* one record; else each ends with \n */
	enum k2i_remote_fate fate;
	unsigned progress; /* the kind's own, 0 at first */
	uint32_t record_count;
	uint64_t taken_ns;
	size_t bytes, room; /* room: of all of it */
	char records[];
};

struct k2i_remote;
struct k2i_remote_batch {
	struct k2i_remote *remote;
	struct k2i_remote_piece **pieces; /* in the order of the queue */
	size_t count;
	int stop;          /* a descriptor that is readable when the sink ends: deliver returns then */
	bool renew;        /* SIGHUP since the last batch: connections, and the files for them, are opened anew */
	uint64_t after_ms; /* the peer wants so much patience for what is left; 0: it does not say */
	/* Why pieces are left, or refused. Control characters in it do no harm. */
	char reason[K2I_REMOTE_REASON_BYTES], refusal[K2I_REMOTE_REASON_BYTES];
};

/* A kind, as it is opened. */
struct k2i_remote_kind {
	const char *name; /* as TYPE has it */
	const char *peer; /* shown; must outlive the sink */
	size_t batch_bytes, batch_pieces;
	/*
	 * Delivers the pieces that are left, and says what became of each. The peer has those that are stored; those that
	 * are refused never will be delivered, and go to the quarantine; others come again after a while.
	 */
	void (*deliver)(void *argument, struct k2i_remote_batch *batch);
	void (*free)(void *argument);
	void *argument;
	/* Counters and gauges of the kind. */
	atomic_uint_fast64_t *records, *retries, *waiting_bytes, *waiting_seconds;
};

/* Frees the argument also if it fails. The error was logged. */
int k2i_remote_open(const struct k2i_remote_kind *kind, const struct k2i_sink_options *options, struct k2i_sink **sink);

/* Shows in the status, if it takes long, for what deliver waits. */
void k2i_remote_say(struct k2i_remote *remote, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
