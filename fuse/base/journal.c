/* SPDX-License-Identifier: MIT */
#include "fuse/base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/crash.h"

/* Addresses only: a page takes memory when it is first written. Where they have 32 bits the ring wants some, too. */
#define STORE_BYTES_MAX (sizeof(void *) > 4 ? UINT64_C(8) << 30 : UINT64_C(512) << 20)
#define STORE_BYTES_MIN (UINT64_C(256) << 20)
/*
 * The memory can be at this address in another keeper, too: no program, library or heap is ever near it. With addresses of 32
 * bits the memory is anywhere, and no keeper takes it over.
 */
#define STORE_ADDRESS ((void *)(uintptr_t)(sizeof(void *) > 4 ? UINT64_C(0x200000000000) : 0))
/* More than a step keeps: a record of the largest size, and each node that one request can name. */
#define JOURNAL_BYTES (UINT64_C(16) << 20)
#define ANSWER_BYTES_MAX (UINT64_C(256) << 10)

#define CLASS_MIN 6u /* blocks of 64 bytes */
#define CLASS_COUNT 40u
/* Free blocks of this class and above give their memory back if there are some already. */
#define CLASS_LARGE 20u
#define LARGE_FREE_MAX 4u
/* From here on all do: no request needs one, only a record that is held as a whole, or what replacements make of many. */
#define CLASS_RARE 23u
#define PAGE_BYTES 4096u
#define KNOWN_COUNT 64u

#define WORD_ANSWERED (UINT64_C(1) << 63)
#define POSITION_SET UINT64_C(1)
#define POSITION_ANSWERED UINT64_C(2)

struct block {
	struct block *next;  /* of the same class, while it is free */
	struct block *freed; /* by the step that is not done */
	uint64_t class;
	uint64_t unused;
};

/* Behind the bytes that were kept. */
struct kept {
	void *memory;
	uint64_t bytes;
};

struct store {
	uint64_t layout; /* 0: its mount has ended */
	uint64_t bytes;
	uint64_t stays; /* see k2i_journal_stay */
	/* Bytes of the journal: 0, nothing is to be put back. Then WORD_ANSWERED: the answer may not have been given. */
	_Atomic uint64_t word;
	_Atomic uint64_t position; /* of the claim whose commit ends the step; POSITION_SET: there is one */
	unsigned lane;             /* in whose ring that is */
	char *fresh;               /* never allocated from here on */
	size_t answer_bytes;
	struct block *free_first[CLASS_COUNT];
	uint32_t free_count[CLASS_COUNT];
	char answer[ANSWER_BYTES_MAX];
	alignas(8) char journal[JOURNAL_BYTES];
	alignas(PAGE_BYTES) char blocks[];
};

static struct store *store;
static int descriptor = -1; /* of its memory */
static struct block *freed_first;
/* The parts that this step has kept already, as far as they are remembered. */
static struct {
	const void *memory;
	size_t bytes;
	uint64_t step;
} known[KNOWN_COUNT];
static uint64_t step_number = 1;

static void *memory_map(uint64_t bytes)
{
	const int flags = MAP_SHARED | MAP_NORESERVE;

	if (descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) == 0)
		return mmap(STORE_ADDRESS, (size_t)bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
	return mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
}

int k2i_journal_create(uint64_t layout)
{
	uint64_t bytes = STORE_BYTES_MAX;
	void *mapped = MAP_FAILED;

	descriptor = memfd_create(K2I_JOURNAL_NAME, MFD_CLOEXEC);
	for (; mapped == MAP_FAILED && bytes >= STORE_BYTES_MIN; bytes /= 2)
		mapped = memory_map(bytes);
	if (mapped == MAP_FAILED)
		return -ENOMEM;
	store = mapped;
	store->layout = layout;
	store->bytes = bytes * 2;
	store->fresh = store->blocks;
	return 0;
}

int k2i_journal_descriptor(void)
{
	return sizeof(void *) > 4 && store == STORE_ADDRESS ? descriptor : -1;
}

int k2i_journal_look(int fd, uint64_t layout, uint64_t *stays)
{
	uint64_t head[3]; /* as of struct store */
	struct stat info;

	if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) || fstat(fd, &info))
		return -EIO;
	*stays = head[2];
	if (head[0] == 0)
		return -ENOENT;
	return head[0] != layout || head[1] != (uint64_t)info.st_size ? -EINVAL : 0;
}

void k2i_journal_destroy(void)
{
	if (store) {
		store->layout = 0;
		(void)munmap(store, (size_t)store->bytes);
	}
	if (descriptor >= 0)
		(void)close(descriptor);
	store = NULL;
	descriptor = -1;
	freed_first = NULL;
}

/* ---- the journal */

/*
 * A process is killed between two of its instructions: all of its stores before are there, none behind. So it is the
 * compiler alone that must not move them over those that say what they mean.
 */
static void word_set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(word, value, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* relaxed: one thread, or its successor when it is dead. */
static uint64_t word_get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static bool is_known(const void *memory, size_t bytes)
{
	unsigned at = (unsigned)((uintptr_t)memory >> 3) % KNOWN_COUNT;

	if (known[at].step == step_number && known[at].memory == memory && known[at].bytes >= bytes)
		return true;
	known[at].memory = memory;
	known[at].bytes = bytes;
	known[at].step = step_number;
	return false;
}

void k2i_journal_keep(const void *memory, size_t bytes)
{
	uint64_t padded = k2i_align_up(bytes, 8), used;
	struct kept kept = {.memory = (void *)(uintptr_t)memory, .bytes = bytes};

	if (!store || bytes == 0 || is_known(memory, bytes))
		return;
	used = word_get(&store->word) & ~WORD_ANSWERED;
	/* Cannot be, by its size; then better a step too early than a journal that tells half of it. */
	if (used + padded + sizeof(kept) > JOURNAL_BYTES) {
		k2i_journal_step();
		used = 0;
		if (padded + sizeof(kept) > JOURNAL_BYTES)
			return;
	}
	memcpy(store->journal + used, memory, bytes);
	memcpy(store->journal + used + padded, &kept, sizeof(kept));
	word_set(&store->word, used + padded + sizeof(kept));
	K2I_CRASH(mount_kept);
}

static void put_back(void)
{
	uint64_t used = word_get(&store->word);

	K2I_CRASH(mount_put_back_before);
	while (used) {
		struct kept kept;

		memcpy(&kept, store->journal + used - sizeof(kept), sizeof(kept));
		used -= sizeof(kept) + k2i_align_up(kept.bytes, 8);
		memcpy(kept.memory, store->journal + used, (size_t)kept.bytes);
	}
	K2I_CRASH(mount_put_back);
	word_set(&store->word, 0);
}

/* The pages that lie in it as a whole: a block begins anywhere, and its own words stay. */
static void pages_give_back(struct block *block)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)(block + 1),
		 end = (uintptr_t)block + (UINT64_C(1) << block->class), first = k2i_align_up(begin, page_bytes);

	(void)madvise((char *)block + (first - (uintptr_t)block), (size_t)(k2i_align_down(end, page_bytes) - first),
		      MADV_REMOVE);
}

static bool gives_back(uint64_t class)
{
	return class >= CLASS_RARE || (class >= CLASS_LARGE && store->free_count[class] >= LARGE_FREE_MAX);
}

/* A process that is killed here loses the memory of the blocks that are left, nothing else. */
static void blocks_free(void)
{
	while (freed_first) {
		struct block *block = freed_first;

		freed_first = block->freed;
		if (gives_back(block->class))
			pages_give_back(block);
		block->next = store->free_first[block->class];
		store->free_count[block->class]++;
		store->free_first[block->class] = block;
	}
}

static void step_end(uint64_t word)
{
	word_set(&store->word, word);
	step_number++;
	if (freed_first)
		blocks_free();
}

void k2i_journal_step(void)
{
	if (store && (word_get(&store->word) & ~WORD_ANSWERED || freed_first))
		step_end(0);
}

void k2i_journal_undo(void)
{
	if (!store)
		return;
	if (word_get(&store->word) & ~WORD_ANSWERED)
		put_back();
	freed_first = NULL;
	step_number++;
}

bool k2i_journal_answer(const struct iovec *parts, int count)
{
	size_t bytes = 0;

	for (int part = 0; part < count; part++)
		bytes += parts[part].iov_len;
	if (!store || bytes > ANSWER_BYTES_MAX)
		return false;
	/* The answer before this one has been given: it must not be taken for half of this. */
	if (word_get(&store->word) == WORD_ANSWERED)
		word_set(&store->word, 0);
	store->answer_bytes = 0;
	for (int part = 0; part < count; part++) {
		memcpy(store->answer + store->answer_bytes, parts[part].iov_base, parts[part].iov_len);
		store->answer_bytes += parts[part].iov_len;
	}
	return true;
}

void k2i_journal_step_answered(void)
{
	if (store)
		step_end(WORD_ANSWERED);
}

const void *k2i_journal_last_answer(size_t *bytes)
{
	if (!store || word_get(&store->word) != WORD_ANSWERED)
		return NULL;
	*bytes = store->answer_bytes;
	return store->answer;
}

int k2i_journal_commit(struct k2hft_producer *producer, unsigned lane, const struct k2hft_chunk *chunk, size_t offset,
		       size_t bytes, bool answered)
{
	int status;

	if (store) {
		store->lane = lane;
		word_set(&store->position,
			 k2hft_producer_position(producer) | POSITION_SET | (answered ? POSITION_ANSWERED : 0));
	}
	K2I_CRASH(mount_commit_before);
	status = k2hft_producer_commit(producer, chunk, offset, bytes);
	if (!store)
		return status;
	K2I_CRASH(mount_committed);
	if (status == 0)
		step_end(answered ? WORD_ANSWERED : 0);
	K2I_CRASH(mount_commit_ended);
	word_set(&store->position, 0);
	return status;
}

void k2i_journal_settle(const struct k2hft_ring *const rings[])
{
	uint64_t position = word_get(&store->position);

	if (position & POSITION_SET &&
	    k2hft_ring_committed(rings[store->lane], position & ~(POSITION_SET | POSITION_ANSWERED)) == 1)
		word_set(&store->word, position & POSITION_ANSWERED ? WORD_ANSWERED : 0);
	word_set(&store->position, 0);
	if (word_get(&store->word) & ~WORD_ANSWERED)
		put_back();
	K2I_CRASH(mount_settled);
}

/* ---- another keeper */

/* A process's locks end with it. */
static void memory_lock(int type)
{
	struct flock whole = {.l_type = (short)type, .l_whence = SEEK_SET};

	while (descriptor >= 0 && fcntl(descriptor, F_SETLKW, &whole) && errno == EINTR)
		continue;
}

int k2i_journal_take(int fd, uint64_t layout, void **first)
{
	uint64_t stays;
	int status = k2i_journal_look(fd, layout, &stays);
	struct stat info;
	void *mapped;

	if (status)
		return status;
	if (fstat(fd, &info))
		return -errno;
	mapped = mmap(STORE_ADDRESS, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	if (mapped != STORE_ADDRESS) {
		(void)munmap(mapped, (size_t)info.st_size);
		return -EADDRINUSE;
	}
	store = mapped;
	descriptor = fd;
	memory_lock(F_WRLCK);
	memory_lock(F_UNLCK);
	if (!(word_get(&store->position) & POSITION_SET))
		k2i_journal_undo();
	*first = (struct block *)(void *)store->blocks + 1;
	return 0;
}

void k2i_journal_stay(void)
{
	if (store)
		store->stays++;
}

void k2i_journal_have(void)
{
	memory_lock(F_WRLCK);
}

/* ---- memory */

static unsigned class_of(size_t bytes)
{
	unsigned shift = CLASS_MIN;

	while (shift < CLASS_COUNT && (UINT64_C(1) << shift) < bytes)
		shift++;
	return shift;
}

void *k2i_journal_alloc(size_t bytes)
{
	unsigned class = class_of(bytes + sizeof(struct block));
	struct block *block;

	if (!store)
		return malloc(bytes ? bytes : 1);
	if (class >= CLASS_COUNT)
		return NULL;
	block = store->free_first[class];
	if (block) {
		K2I_JOURNAL_KEEP(&store->free_first[class]);
		store->free_first[class] = block->next;
		if (store->free_count[class])
			store->free_count[class]--;
		return block + 1;
	}
	if ((uint64_t)(store->fresh - (char *)store) + (UINT64_C(1) << class) > store->bytes)
		return NULL;
	block = (struct block *)(void *)store->fresh;
	block->class = class;
	K2I_JOURNAL_KEEP(&store->fresh);
	store->fresh += UINT64_C(1) << class;
	return block + 1;
}

void k2i_journal_free(void *memory)
{
	struct block *block;

	if (!store) {
		free(memory);
		return;
	}
	if (!memory)
		return;
	block = (struct block *)memory - 1;
	block->freed = freed_first;
	freed_first = block;
}

char *k2i_journal_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = k2i_journal_alloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}
