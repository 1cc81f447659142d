/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_SINK_H
#define K2I_RECEIVER_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/format/format.h"
#include "app/program/report.h"
#include "config/settings.h"
#include "receiver/base/counters.h"
#include "receiver/base/owner.h"
#include "receiver/sink/group.h"

/*
 * A sink is a kind of destination: it stores what a commit group brings. It is a table of functions, and nobody outside
 * its folder knows more of it; receiver/daemon/sinks.c lists all of them.
 *
 * A commit is begin, store, the ledger's record, end, in this order and under the ring's lock, so none of them may wait
 * for another machine. A sink that has to is LATER: its store copies what it needs, and it tells by k2i_sink_stored
 * when it is stored. The ledger has the position, and the sender its acknowledgement, no sooner than that.
 */
enum k2i_sink_traits {
	K2I_SINK_UNDO = 1,  /* it can go back to a mark in the ledger: `marks` to `recover_end` are not NULL,
				  but for `settle` */
	K2I_SINK_LATER = 2, /* it stores after `store` has returned */
};

#define K2I_SINK_WAITS 1 /* store has no room now: nothing has failed, and k2i_sink_ready follows */

/*
 * A group that a sink stores LATER. The report is there before the sink has the group: to hand it back can't fail.
 */
struct k2i_sink_report {
	struct k2i_sink_report *next; /* for the listener */
	struct k2i_owner owner;
	uint32_t sink;
	uint8_t ring[16];  /* its uuid */
	uint64_t position; /* behind the group */
	int error;         /* the group never will be stored, nor those of the owner behind it; 0: it is */
};

struct k2i_sink_listener { /* any thread */
	/* Takes the report, which free(3) is for. */
	void (*stored)(struct k2i_sink_report *report);
	void (*ready)(struct k2i_owner owner);
};

/* Chunks of a ring that a sink has and can't take back. */
struct k2i_retraction {
	const char *base, *path; /* the file's, below the base directory; NULL: it is not known where it is */
	uint64_t offset, bytes;
	bool loose;        /* offset and bytes are not known */
	bool hashed;       /* the file could be read */
	uint64_t checksum; /* of these bytes: k2i_hash */
	uint64_t from, to; /* the chunks' positions in the ring */
	uint64_t records;
};

struct k2i_settling {
	const struct k2i_ledger_ring *row; /* with the position that it goes back to */
	struct k2i_ledger_range *ranges;   /* of what is beyond that, the newest first */
	size_t range_count;
	/* Keeps the retraction. -ENOMEM */
	int (*retract)(void *argument, const struct k2i_retraction *retraction);
	void *argument;
};

struct k2i_sink_state { /* a sink in a few numbers, for metrics */
	const char *name;
	uint64_t held;                      /* files, processes or peers of it that can't take records now */
	uint64_t waiting_bytes, waiting_ns; /* taken and not stored; how long the oldest has waited, if that is known */
};

struct k2i_sink { /* the first part of what a sink has */
	const struct k2i_sink_ops *ops;
	const struct k2i_sink_listener *listener;
	uint32_t
		number; /* of its rows in the ledger, and of all that is kept for each sink: the same in every receiver */
};

struct k2i_sink_ops {
	unsigned traits;

	/* Loop threads ------------------------------------------------------------------------------------------ */

	/* A sink may leave out thread_open to begin, end, start, sync and reload, if it has nothing to do there. */

	/* State that the sink needs once in each thread; it finds it in the group. */
	int (*thread_open)(struct k2i_sink *sink, void **thread);
	void (*thread_close)(struct k2i_sink *sink, void *thread);
	/*
	 * The target for a stream's next chunk, which stays until it is released; all streams have the same one if there is no
	 * place. -EINVAL, -ENOMEM.
	 */
	int (*place)(const struct k2i_group *group, const struct k2i_stream *stream, struct k2i_target **target);
	void (*release)(struct k2i_sink *sink, struct k2i_target *target);
	/*
	 * Locks the targets, makes them ready, and tells the ledger of them if they have marks. `deferred`: the sender
	 * waits for the disk. A target that is at fault itself gets an `error`, and the others go on. Any other error
	 * is the sink's, and nothing is stored. `end` follows in any case.
	 */
	int (*begin)(struct k2i_group *group, bool deferred);
	/*
	 * Stores the chunks of all targets without an error. 0; K2I_SINK_WAITS; or an error, of which the sink has
	 * undone what it could. A LATER sink that returns 0 hands the report back once, before it is closed, and those
	 * of an owner in their order; for any other it is NULL.
	 */
	int (*store)(struct k2i_group *group, struct k2i_sink_report *report);
	/* `kept`: the group is stored, and the ledger has it, or it is the sink's to store later. */
	void (*end)(struct k2i_group *group, bool kept);

	/* The ledger's rows of the targets, now that they are written; how many. */
	size_t (*marks)(const struct k2i_group *group, struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX]);
	/* Takes back a group that was stored and is not committed. */
	void (*undo)(struct k2i_group *group);

	/*
	 * Takes back for good what it has of a ring beyond the row's position, or tells of it as retracted, under the
	 * ring's lock; it may have to do it again. Errors of the disk. `settled` follows when the ledger has it.
	 */
	int (*settle)(struct k2i_sink *sink, struct k2i_settling *settling);
	void (*settled)(struct k2i_sink *sink, const struct k2i_ledger_ring *row);

	/* A ring, all of which is acknowledged, never comes again; under its lock, before the ledger forgets it. May be NULL. */
	void (*ended)(struct k2i_sink *sink, const uint8_t ring[16]);

	/*
	 * The start, before and after k2i_ledger_begin --------------------------------------------------------------
	 */

	/* Whether a target has less than the ledger says; one that is elsewhere now is recover_end's. */
	bool (*is_behind)(struct k2i_sink *sink, const struct k2i_ledger_file *mark);
	/* Takes a target back to its mark, for good, if `cut`; else logs how it differs. */
	void (*recover)(struct k2i_sink *sink, const struct k2i_ledger_file *mark, bool cut);
	/* Behind the last is_behind, and the last recover: the same for targets elsewhere. Whether one is behind. */
	bool (*recover_end)(struct k2i_sink *sink);
	/* Opens what had to be recovered before. The error was logged. NULL: nothing had to. */
	int (*resume)(struct k2i_sink *sink);
	/* The ledger has begun anew and knows no targets. */
	void (*start)(struct k2i_sink *sink);

	/* Other threads ------------------------------------------------------------------------------------------- */

	/* Chunks that were stored before survive a power cut when it returns. A single thread, the syncer's. */
	int (*sync)(struct k2i_sink *sink);
	/* SIGHUP: what is open is opened anew. */
	void (*reload)(struct k2i_sink *sink);
	/*
	 * Keeps ready what other settings say, which can fail, with the reason in `message` or without one; `change` has groups go by it from the next on, or forgets it.
	 * NULL: no setting that a reload takes concerns the sink.
	 */
	int (*prepare)(struct k2i_sink *sink, const struct k2i_settings *settings, char *message, size_t message_room);
	void (*change)(struct k2i_sink *sink, bool take);
	/* Once a second. */
	void (*tick)(struct k2i_sink *sink, uint64_t now_ns);
	/* Its part of the status, at most `listed_max` entries, and its state, which is zero before; it waits for nothing. */
	void (*show)(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
		     struct k2i_sink_state *state);
	/* `sync`: all that is stored survives a power cut, and what was to be undone is; else an error. */
	int (*close)(struct k2i_sink *sink, bool sync);
};

/* Adds an entry of a sink to its state. `held`: why it can't take records now, or "". */
void k2i_sink_state_add(struct k2i_sink_state *state, const char *held, uint64_t waiting_bytes, uint64_t waiting_ns);
/* From any thread: a group is stored, or, with an error, has to come again with those behind it. */
void k2i_sink_stored(const struct k2i_sink *sink, struct k2i_sink_report *report, int error);
/* Likewise: an owner to whom store said K2I_SINK_WAITS can try again. */
void k2i_sink_ready(const struct k2i_sink *sink, struct k2i_owner owner);

/* All sinks of a receiver, in the order of their numbers. */
struct k2i_sinks {
	struct k2i_sink *list[K2I_SINKS_MAX];
	uint32_t count;
};
#define K2I_SINKS_EACH(sinks, sink)                                                                                    \
	for (struct k2i_sink *const *sink = (sinks)->list; sink < (sinks)->list + (sinks)->count; sink++)

/* Each function below is that of ops, of all sinks or of the mark's. */

bool k2i_sinks_behind(const struct k2i_sinks *sinks, const struct k2i_ledger_file *mark);
void k2i_sinks_recover(const struct k2i_sinks *sinks, const struct k2i_ledger_file *mark, bool cut);
bool k2i_sinks_recover_end(const struct k2i_sinks *sinks);
int k2i_sinks_close(struct k2i_sinks *sinks, bool sync);

/* Arguments that a sink is opened with. All of them must outlive the sink. */
struct k2i_sink_options {
	const struct k2i_settings *settings;
	const struct k2i_format *format;
	const struct k2i_sink_listener *listener;
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	const char *state_directory; /* the receiver's own: no stream may get there */
	size_t targets_max;          /* open at a time */
	bool killed;                 /* the receiver before may not have brought to the disk what it wrote */
	/* Puts chunks that a LATER sink can't store into the quarantine; any thread. Errors as k2i_quarantine_put. */
	int (*quarantine)(void *argument, const uint8_t ring[16], const struct k2i_group *group,
			  const struct k2i_group_target *target);
	void *quarantine_argument;
};

#endif
