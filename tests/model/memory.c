/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "shim_calls.h"

/* The words that were stored to, in the order in which they were found; they stay from run to run of a scenario. */
struct known {
	const uint8_t *address;
	bool plain, counter;
	uint8_t readers, writers; /* threads, as bits */
};

static struct known known[MODEL_WORDS];
static unsigned known_count;

bool model_weak, model_new_word;
uint64_t model_cut;
const struct model_mutation *model_mutation;

/* Words that nobody judges by: to look at them or write them is no point at which it matters who goes first. */
static const char *const counters[] = {
	"header->acked,", "acked_records", "committed_", "discarded_claims",
	"header->read,",  "declared,",     "damaged_",   "epoch",
};

static bool is_counter(const char *text)
{
	char ended[160];

	(void)snprintf(ended, sizeof(ended), "%s,", text);
	for (size_t at = 0; at < sizeof(counters) / sizeof(*counters); at++)
		if (strstr(ended, counters[at]))
			return true;
	return false;
}

/* The data of an area are there twice in a row. */
static const uint8_t *canonical(const void *word)
{
	return k2i_ring_first_view(&world.rings[0], word);
}

static unsigned word_find(const void *word)
{
	const uint8_t *address = canonical(word);

	for (unsigned at = 0; at < known_count; at++)
		if (known[at].address == address)
			return at;
	return MODEL_WORDS;
}

static void word_begin(unsigned at)
{
	struct model_word *word = &world.words[at];

	memset(word, 0, sizeof(*word));
	word->plain = known[at].plain;
	word->count = 1;
	if (world.words_used <= at)
		world.words_used = at + 1;
}

static unsigned word_make(const void *address, const char *text, bool plain)
{
	unsigned at = word_find(address);

	if (at != MODEL_WORDS)
		return at;
	if (known_count == MODEL_WORDS)
		model_violation("more shared words than the model has room for");
	at = known_count++;
	known[at] = (struct known){.address = canonical(address), .plain = plain, .counter = is_counter(text)};
	model_new_word |= model_running();
	word_begin(at);
	return at;
}

void model_words_forget(void)
{
	known_count = 0;
}

void model_memory_reset(void)
{
	world.words_used = 0;
	for (unsigned at = 0; at < known_count; at++)
		word_begin(at);
}

const char *model_word_name(unsigned word, char *text, size_t room)
{
	const uint8_t *address = known[word].address, *slots = (const uint8_t *)model_slots;

	if (address >= model_data && address < model_data + 2 * (MODEL_CAPACITY_MAX + MODEL_AREA_BYTES))
		(void)snprintf(text, room, "data+%u", (unsigned)(address - model_data));
	else if (address >= slots && address < slots + K2I_SLOT_COUNT * sizeof(*model_slots))
		(void)snprintf(text, room, "slot %u+%u", (unsigned)((size_t)(address - slots) / sizeof(*model_slots)),
			       (unsigned)((size_t)(address - slots) % sizeof(*model_slots)));
	else
		(void)snprintf(text, room, "header+%u", (unsigned)(address - (const uint8_t *)model_header));
	return text;
}

void model_view_join(struct model_view *view, const struct model_view *other)
{
	for (unsigned at = 0; at < world.words_used; at++)
		if (view->seen[at] < other->seen[at])
			view->seen[at] = other->seen[at];
}

static bool acquires(memory_order order)
{
	return order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static bool releases(memory_order order)
{
	return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static uint8_t oldest(const struct model_word *word)
{
	return (uint8_t)(word->latest - word->count + 1);
}

/* The oldest value that the thread may still see. */
static uint8_t visible_from(const struct model_thread *thread, unsigned at, memory_order order)
{
	const struct model_word *word = &world.words[at];
	uint8_t from = thread->view.seen[at];

	if (from < oldest(word))
		from = oldest(word);
	if (order == memory_order_seq_cst && from < word->sequential)
		from = word->sequential;
	return from;
}

unsigned model_options(const struct model_thread *thread)
{
	const struct model_operation *operation = &thread->operation;

	if (operation->kind != MODEL_LOAD || !model_weak)
		return 1;
	return 1u + world.words[operation->word].latest - visible_from(thread, operation->word, operation->order);
}

static struct model_value *newest(struct model_word *word)
{
	return &word->values[word->count - 1];
}

static uint64_t value_load(struct model_thread *thread, unsigned at, memory_order order, unsigned option)
{
	struct model_word *word = &world.words[at];
	uint8_t number = (uint8_t)(word->latest - option);
	const struct model_value *value = &word->values[number - oldest(word)];

	if (thread->view.seen[at] < number)
		thread->view.seen[at] = number;
	if (acquires(order))
		model_view_join(&thread->view, &value->view);
	return value->value;
}

static void value_store(struct model_thread *thread, unsigned at, uint64_t value, memory_order order,
			const struct model_view *sequence)
{
	struct model_word *word = &world.words[at];
	struct model_value *stored;

	if (word->latest == UINT8_MAX)
		model_violation("more values of a word than the model can number");
	if (word->count == MODEL_VALUES) {
		memmove(word->values, word->values + 1, (MODEL_VALUES - 1) * sizeof(*word->values));
		word->count--;
		model_cut += model_running();
	}
	word->count++;
	word->latest++;
	thread->view.seen[at] = word->latest;
	stored = newest(word);
	memset(stored, 0, sizeof(*stored));
	stored->value = value;
	if (releases(order))
		stored->view = thread->view;
	stored->view.seen[at] = word->latest;
	if (sequence)
		model_view_join(&stored->view, sequence);
	if (order == memory_order_seq_cst)
		word->sequential = word->latest;
}

/* Values that no thread can see any more are forgotten, and numbers begin at 0 again: equal states look equal. */
void model_tidy(void)
{
	for (unsigned at = 0; at < world.words_used; at++) {
		struct model_word *word = &world.words[at];
		uint8_t from = word->latest, drop;

		if (word->plain)
			continue;
		for (unsigned number = 0; number < MODEL_THREADS; number++) {
			const struct model_thread *thread = &world.threads[number];

			if ((thread->status == MODEL_READY || thread->status == MODEL_BLOCKED) &&
			    thread->view.seen[at] < from)
				from = thread->view.seen[at];
		}
		if (!model_weak)
			from = word->latest;
		if (from > oldest(word)) {
			drop = (uint8_t)(from - oldest(word));
			word->count = (uint8_t)(word->count - drop);
			memmove(word->values, word->values + drop, word->count * sizeof(*word->values));
		}
		drop = oldest(word);
		if (!drop)
			continue;
		word->latest = (uint8_t)(word->latest - drop);
		word->sequential = (uint8_t)(word->sequential > drop ? word->sequential - drop : 0);
		for (unsigned number = 0; number < MODEL_THREADS; number++) {
			uint8_t *seen = &world.threads[number].view.seen[at];

			*seen = (uint8_t)(*seen > drop ? *seen - drop : 0);
		}
		for (unsigned other = 0; other < world.words_used; other++)
			for (unsigned number = 0; number < world.words[other].count; number++) {
				uint8_t *seen = &world.words[other].values[number].view.seen[at];

				*seen = (uint8_t)(*seen > drop ? *seen - drop : 0);
			}
	}
}

static bool mutated(struct model_site site)
{
	return model_mutation && model_running() && strcmp(model_mutation->function, site.function) == 0 &&
	       strstr(site.word, model_mutation->word);
}

static memory_order order_of(struct model_site site, memory_order order)
{
	if (!mutated(site))
		return order;
	if (model_mutation->what == MODEL_WEAKEN)
		return memory_order_relaxed;
	return model_mutation->what == MODEL_TO_RELEASE && order == memory_order_seq_cst ? memory_order_acq_rel : order;
}

/*
 * With old values to be seen, a store of a thread that does not die is no point to yield at, unless others store to the
 * word, too: who runs between it and what the thread did before can see the old value afterwards as well.
 */
static bool only_store(const struct model_thread *thread, enum model_kind kind, unsigned at, memory_order order)
{
	return model_weak && kind == MODEL_STORE && order != memory_order_seq_cst && !thread->mortal &&
	       known[at].address != (const uint8_t *)&model_header->sleeping;
}

/* Whether another thread has to do with the word such that it matters who goes first. */
static bool matters(enum model_kind kind, unsigned at)
{
	struct known *word = &known[at];
	uint8_t self = (uint8_t)(1u << world.running);
	uint8_t others = (uint8_t)(word->writers | (kind == MODEL_LOAD ? 0 : word->readers));

	if (kind != MODEL_STORE && !(word->readers & self)) {
		word->readers |= self;
		model_new_word |= (word->writers & ~self) != 0;
	}
	if (kind != MODEL_LOAD && !(word->writers & self)) {
		word->writers |= self;
		model_new_word |= ((word->writers | word->readers) & ~self) != 0;
	}
	return others & ~self;
}

static void announce(enum model_kind kind, struct model_site site, unsigned at, memory_order order, uint64_t value)
{
	struct model_operation operation = {kind, at, order, value, site.function, site.word};

	model_self()->option = 0;
	if (model_running() && !known[at].counter && matters(kind, at) && !only_store(model_self(), kind, at, order))
		model_yield(&operation);
}

uint64_t model_load(struct model_site site, const void *word, memory_order order)
{
	struct model_thread *thread = model_self();
	unsigned at = word_find(word);

	order = order_of(site, order);
	if (at == MODEL_WORDS)
		return 0;
	announce(MODEL_LOAD, site, at, order, 0);
	return value_load(thread, at, order, thread->option);
}

/* Rules for the positions, for every writer of them. */
static void position_check(unsigned at, uint64_t value)
{
	const uint8_t *address = known[at].address;
	const struct k2hft_ring *consumer = &world.rings[0];

	if (!model_running())
		return;
	if (address == (const uint8_t *)&model_header->head && value < newest(&world.words[at])->value)
		model_violation("head goes back to %llu", (unsigned long long)value);
	if (address == (const uint8_t *)&model_header->head && value > model_peek(&model_header->tail))
		model_violation("head goes to %llu, beyond tail", (unsigned long long)value);
	if (address == (const uint8_t *)&model_header->tail && value < consumer->read)
		model_violation("tail goes back to %llu, below read", (unsigned long long)value);
	if (address == (const uint8_t *)&model_header->tail && !k2i_place_valid(consumer, consumer->head, value))
		model_violation("tail goes to %llu, more than a lap of its area from head", (unsigned long long)value);
}

void model_store(struct model_site site, void *word, uint64_t value, memory_order order)
{
	unsigned at = word_make(word, site.word, false);

	order = order_of(site, order);
	announce(MODEL_STORE, site, at, order, value);
	if (mutated(site) && model_mutation->what == MODEL_DROP)
		return;
	position_check(at, value);
	value_store(model_self(), at, value, order, NULL);
}

/* A read and a store that nothing comes between: of the newest value, always. */
static uint64_t update(struct model_site site, unsigned at, memory_order order, uint64_t value)
{
	struct model_thread *thread = model_self();
	struct model_view sequence = newest(&world.words[at])->view;
	uint64_t before = value_load(thread, at, order, 0);

	if (mutated(site) && model_mutation->what == MODEL_DROP)
		return before;
	position_check(at, value);
	value_store(thread, at, value, order, &sequence);
	return before;
}

uint64_t model_add(struct model_site site, void *word, uint64_t value, memory_order order)
{
	unsigned at = word_make(word, site.word, false);

	order = order_of(site, order);
	announce(MODEL_UPDATE, site, at, order, value);
	return update(site, at, order, newest(&world.words[at])->value + value);
}

uint64_t model_exchange(struct model_site site, void *word, uint64_t value, memory_order order)
{
	unsigned at = word_make(word, site.word, false);

	order = order_of(site, order);
	announce(MODEL_UPDATE, site, at, order, value);
	return update(site, at, order, value);
}

bool model_compare_exchange(struct model_site site, void *word, void *expected, size_t bytes, uint64_t value,
			    memory_order order)
{
	unsigned at = word_make(word, site.word, false);
	uint64_t wanted = 0, found;

	memcpy(&wanted, expected, bytes); /* little-endian: this is for x86-64 only (model.mk) */
	order = order_of(site, order);
	announce(MODEL_UPDATE, site, at, order, value);
	if (newest(&world.words[at])->value == wanted) {
		(void)update(site, at, order, value);
		return true;
	}
	found = value_load(model_self(), at, memory_order_relaxed, 0);
	memcpy(expected, &found, bytes);
	return false;
}

uint64_t model_value_key(unsigned word, uint64_t value)
{
	bool sleep = known[word].address == (const uint8_t *)&model_header->sleeping;

	return sleep && value ? 1 + (value == world.rings[0].sleep_number) : value;
}

uint64_t model_peek(const void *word)
{
	unsigned at = word_find(word);

	return at == MODEL_WORDS ? 0 : newest(&world.words[at])->value;
}

/*
 * A plain word has a partner, in which reading counts as a store: a writer must know of all reads and writes before, a
 * reader of all writes.
 */
static void race_check(unsigned at, const char *what)
{
	char name[40];

	if (model_weak && model_self()->view.seen[at] != world.words[at].latest)
		model_violation("payload at %s is %s without order against another thread's access",
				model_word_name(at, name, sizeof(name)), what);
}

static void plain_touch(unsigned at, uint64_t value)
{
	struct model_word *word = &world.words[at];

	if (!model_weak) {
		word->values[0].value = value;
		return;
	}
	if (word->latest == UINT8_MAX)
		model_violation("more accesses to a word than the model can number");
	word->latest++;
	word->values[0].value = value;
	model_self()->view.seen[at] = word->latest;
}

void model_plain_write(void *word, uint64_t value)
{
	unsigned at = word_make(word, "", true);
	unsigned reads = word_make((uint8_t *)word + 1, "", true);

	race_check(at, "written");
	race_check(reads, "written");
	plain_touch(at, value);
}

uint64_t model_plain_read(const void *word)
{
	unsigned at = word_find(word), reads = word_find((const uint8_t *)word + 1);

	if (at == MODEL_WORDS)
		return 0;
	race_check(at, "read");
	plain_touch(reads, 0);
	return world.words[at].values[0].value;
}

/* A system call is ordered against all others. */
static void call(enum model_kind kind, const char *name)
{
	struct model_operation operation = {kind, 0, memory_order_seq_cst, 0, name, ""};

	if (model_running())
		model_yield(&operation);
}

ssize_t model_wake(void)
{
	call(MODEL_LOOK, "wake");
	world.awake = true;
	return 8;
}

ssize_t model_wake_taken(void)
{
	bool was = world.awake;

	world.awake = false;
	errno = EAGAIN;
	return was ? 8 : -1;
}

long model_futex(const void *word, int operation, uint32_t value)
{
	call(MODEL_FUTEX, operation == FUTEX_WAKE ? "futex wake" : "futex wait");
	if (operation == FUTEX_WAKE) {
		model_wake_waiters(word);
		return 0;
	}
	errno = EAGAIN;
	if (model_peek(word) != value)
		return -1;
	model_block(word);
	return 0;
}

/* All that is allocated is a producer's handle, */
void *model_calloc(size_t count, size_t bytes)
{
	unsigned number = world.running;

	if (count * bytes != sizeof(struct k2hft_producer) || number == 0 || number > MODEL_PRODUCERS)
		model_violation("an allocation that the model does not know");
	memset(&world.producers[number - 1], 0, bytes);
	return &world.producers[number - 1];
}

/* and what the consumer keeps of a stream. */
void *model_malloc(size_t bytes)
{
	if (world.copies_used == MODEL_PRODUCERS || bytes > sizeof(world.copies[0]))
		model_violation("an allocation that the model does not know");
	return world.copies[world.copies_used++];
}

void model_free(const void *memory)
{
	(void)memory;
}

/* All of the model's threads have the consumer's memory: nobody waits for one that is gone. */
bool k2i_ring_abandoned(struct k2hft_ring *ring)
{
	return k2i_ring_abandoned_known(ring);
}

bool k2i_ring_abandoned_known(const struct k2hft_ring *ring)
{
	(void)ring;
	return false;
}

bool k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other)
{
	unsigned number = (unsigned)(other->owner >> 32);

	if (other->owner == self->owner)
		return true;
	if (number == 0 || number > MODEL_THREADS)
		return false;
	if (world.threads[number - 1].mortal)
		call(MODEL_LOOK, "is it alive");
	if (world.threads[number - 1].status != MODEL_DEAD)
		return true;
	/* A thread that finds it dead finds all that it has written. */
	model_view_join(&model_self()->view, &world.threads[number - 1].view);
	return false;
}
