/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_MODEL_MODEL_H
#define K2I_TESTS_MODEL_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "ring/handle.h"

/*
 * Schedules of a few small threads that run the ring's real code (ring*.c of MODEL_RING in model.mk), compiled anew with
 * shim.h.
 *
 * Before each access to a word that threads share, a thread yields to the explorer (explore.c), which goes through all
 * choices there are: which thread goes on, which of the values that it may see a load returns, whether a thread that can
 * die dies here. It goes back to a choice by putting memory and stacks back as they were. States that were seen before
 * are not gone through again; a state is memory, each thread's stack and registers, and the flags of the scenario.
 *
 * "ordered" memory has one value of a word for all. "weak" memory (memory.c) is that of C11 for acquire, release, relaxed
 * and seq_cst, told as views: a word keeps its last values, each with what a thread that acquires it knows then; a
 * thread may read any value that is not older than what it knows of. The model takes the stricter of two standards: a
 * relaxed store behind a release of the same thread publishes nothing, as since C++20. Payload bytes are plain: an access
 * that is not ordered behind all others that matter to it is reported as a race.
 *
 * Rules: records arrive once, whole and in their producer's order, whatever was committed arrives, nothing is
 * taken for damaged, head and tail keep to their order, and when all have stopped the ring is empty. If all states of a
 * scenario were seen: from each of them an end is within reach, so nobody waits or goes round for ever.
 *
 * Not explored are:
 *	- most scenarios as a whole: they are larger than what is gone through ("limit"), so what was not seen is not
 *	  shown to be right; other orders of the choices reach other parts
 *	- more than two producers at work beside the consumer, more than two records each, more than one death, the
 *	  consumer's death, a process that comes after another one's end, more than 4 values of a word (the "cut" ones)
 *	- a store that becomes visible before an earlier load of its thread (load buffering), a store that goes before
 *	  another thread's in the order of its word, exchanges that fail without reason or on an old value
 *	- opening, mapping, files, locks, streams that are declared or taken back, validate and repair, rewind, the counters;
 *	  that a death is found by pid and start time; system calls wake, and are not taken to order memory
 */

#define MODEL_THREADS 4
#define MODEL_WORDS 160
#define MODEL_VALUES 4 /* of a word that are kept; more are cut off, and that is counted */
#define MODEL_CAPACITY 256u
#define MODEL_CAPACITY_MAX 512u /* where there is a small area, too */
#define MODEL_AREA_BYTES 256u
#define MODEL_BEGIN (UINT64_C(1) << 20)
#define MODEL_PRODUCERS 3
#define MODEL_COPY_BYTES 1408u                 /* of what is kept of a stream */
#define MODEL_SLEEP_BEGIN UINT32_C(0x7a310000) /* number of the sleep before the first one: no other word is near it */

enum model_kind { MODEL_LOAD, MODEL_STORE, MODEL_UPDATE, MODEL_SLEEP, MODEL_FUTEX, MODEL_LOOK };

struct model_view {
	uint8_t seen[MODEL_WORDS];
};

struct model_value {
	uint64_t value;
	struct model_view view;
};

struct model_word {
	uint8_t latest, count, sequential; /* newest value's number, how many are kept, the last of a seq_cst store */
	bool plain;
	struct model_value values[MODEL_VALUES];
};

struct model_operation {
	enum model_kind kind;
	unsigned word;
	memory_order order;
	uint64_t value;
	const char *function, *text;
};

enum model_status { MODEL_ABSENT, MODEL_READY, MODEL_BLOCKED, MODEL_ENDED, MODEL_DEAD };

struct model_thread {
	enum model_status status;
	bool mortal;
	const void *waits_for; /* a futex's word, or NULL: the consumer's wake */
	unsigned option;       /* of the operation that it is about to do */
	struct model_operation operation;
	struct model_view view;
	char *stack_low;
	ucontext_t context;
};

/* Records of a producer, as the scenario knows them, and as the consumer has found them. */
struct model_tally {
	uint64_t committed; /* calls that returned */
	uint64_t begun;     /* the one that was committing when it died, too */
	uint64_t seen;
};

struct model_world {
	struct model_thread threads[MODEL_THREADS];
	struct model_tally tallies[MODEL_PRODUCERS];
	struct k2hft_ring rings[MODEL_THREADS];
	struct k2hft_producer producers[MODEL_PRODUCERS];
	struct k2hft_producer *opened[MODEL_PRODUCERS];
	struct k2i_stream_copy *stream_copies[MODEL_PRODUCERS]; /* the consumer's, where the scenario has it look */
	uint64_t copies[MODEL_PRODUCERS][MODEL_COPY_BYTES / sizeof(uint64_t)];
	unsigned copies_used;
	bool awake;   /* the consumer's descriptor is readable */
	bool claimed; /* a claim stood in the consumer's way when it went to sleep */
	unsigned running;
	unsigned words_used;
	struct model_word words[MODEL_WORDS];
};
extern struct model_world world;

/* A scenario; `run` is called for each thread with its number. */
struct model_scenario {
	const char *name, *what;
	void (*prepare)(void);
	void (*run)(unsigned thread);
	unsigned threads; /* thread 0 is the consumer */
	unsigned mortal;  /* the one that may die; 0: none */
	bool idle;        /* thread 0 does nothing, so what is in the ring stays */
};
extern const struct model_scenario model_scenarios[];
extern const unsigned model_scenario_count;

/* A deviation of the model from the code: in `function`, with the word whose text has `word`. */
struct model_mutation {
	const char *name, *scenario;
	bool weak; /* with which memory it shows */
	const char *function, *word;
	enum { MODEL_WEAKEN, MODEL_TO_RELEASE, MODEL_DROP } what;
};
extern const struct model_mutation model_mutations[];
extern const unsigned model_mutation_count;
extern const struct model_mutation *model_mutation;

/* memory.c */
extern bool model_weak;     /* stale values can be read */
extern bool model_new_word; /* a word was found to be shared: what was explored so far has taken it for private */
extern uint64_t model_cut;  /* values that were cut off */
void model_memory_reset(void);
void model_words_forget(void);
unsigned model_options(const struct model_thread *thread);
void model_tidy(void);
void model_view_join(struct model_view *view, const struct model_view *other);
const char *model_word_name(unsigned word, char *text, size_t room);
/* Where the ring's memory is. */
extern struct k2i_ring_header *model_header;
extern struct k2i_slot *model_slots;
extern struct k2i_stream *model_streams;
extern uint8_t *model_data;
/*
 * The kind of a word, which tells its values apart: sleeps are numbered, but it matters only whether one is the present
 * one.
 */
uint64_t model_value_key(unsigned word, uint64_t value);
/* The newest value of a word, for what a scenario checks. */
uint64_t model_peek(const void *word);
/* Plain accesses to payload, 8 bytes. */
void model_plain_write(void *word, uint64_t value);
uint64_t model_plain_read(const void *word);

/* explore.c */
bool model_running(void); /* false: preparations, nothing else is at work */
struct model_thread *model_self(void);
void model_yield(const struct model_operation *operation);
void model_block(const void *waits_for);
void model_wake_waiters(const void *word);
void model_violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
const char *model_violation_text(void); /* of the last exploration */
struct model_result {
	uint64_t states, steps, ends, cut;
	bool violated, exhausted;
};
/* Up to `states_max` states in each of `orders` orders, or all of them in one; numbers are sums over the orders. */
void model_explore(const struct model_scenario *scenario, uint64_t states_max, unsigned orders, bool trace,
		   struct model_result *result);

/* scenarios.c: called when nobody can go on. True: all is as it must be then. */
bool model_end_check(const struct model_scenario *scenario);
/* Whether the consumer's timer would have it look again. */
bool model_timer(void);

#endif
