/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_JOURNAL_H
#define K2I_FUSE_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <k2hft/ring.h>

/*
 * Memory that outlives the process which serves the mount, at the same addresses in its successor, and a journal that
 * makes what is in it whole: whoever changes it keeps what was there before, and what was kept is put back if the
 * process dies before its step is done. A step ends at a point from which the successor can go on: an answer, or a
 * commit to the ring, which decides together with its step. A single thread; without k2i_journal_create, as in tests of
 * single parts, the memory is the process's own and nothing is kept.
 */
int k2i_journal_create(uint64_t layout); /* -ENOMEM */
/* The mount has ended: nobody takes the memory over any more. */
void k2i_journal_destroy(void);

/*
 * The memory can outlive its keeper where another process has a copy of its descriptor. This returns that, or -1 where
 * another process could not have the memory at the same address. `layout` is a number for all that is in the memory, which
 * the other program must share.
 */
#define K2I_JOURNAL_NAME "k2hft-mount"
int k2i_journal_descriptor(void);
/*
 * Whether the memory of `fd` can be taken over: 0, -ENOENT its mount has ended, -EINVAL another layout, -EIO. Taken over, it
 * is this process's, as if it had been created here, with the descriptor, when no other process has it to itself any more;
 * `*first` is what was allocated first. A step that was not done is put back, unless it is for a ring to say whether it was.
 * -EADDRINUSE, or -errno: it can't be mapped. `*stays`: how often k2i_journal_stay was called.
 */
int k2i_journal_look(int fd, uint64_t layout, uint64_t *stays);
int k2i_journal_take(int fd, uint64_t layout, void **first);
/* The keeper was asked to leave the memory, and does not: k2i_journal_look tells that. */
void k2i_journal_stay(void);
/* The memory is this process's alone until it ends; waits while it is another's. */
void k2i_journal_have(void);

/* Memory of any content; NULL. Freed memory stays as it is until the step is done. */
void *k2i_journal_alloc(size_t bytes);
void k2i_journal_free(void *memory);
/* A copy of `text`; NULL. */
char *k2i_journal_strdup(const char *text);

/* To be called before `bytes` of shared memory are changed, if they were there before this step. */
void k2i_journal_keep(const void *memory, size_t bytes);
#define K2I_JOURNAL_KEEP(object) k2i_journal_keep((object), sizeof(*(object)))

/* The step is done: what has changed stays. */
void k2i_journal_step(void);

/* The step is given up: what it has kept is as it was. The process's own memory is its own affair. */
void k2i_journal_undo(void);

/*
 * The answer to the request that is being served, for a successor who can't know whether it was given. It counts from
 * the end of the step with it. false: it is too large to be worth it.
 */
bool k2i_journal_answer(const struct iovec *parts, int count);
void k2i_journal_step_answered(void);
const void *k2i_journal_last_answer(size_t *bytes);

/*
 * k2hft_producer_commit into the ring of a lane, as the end of a step: both are, or neither is. `answered`: with the
 * answer.
 */
int k2i_journal_commit(struct k2hft_producer *producer, unsigned lane, const struct k2hft_chunk *chunk, size_t offset,
		       size_t bytes, bool answered);

/* The first call of a successor, with the rings open, by lane, and nothing released since. */
void k2i_journal_settle(const struct k2hft_ring *const rings[]);

#endif
