/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES 32768
#define BELOW_BYTES 1024 /* of a stack: what lies below the frame that yields */
#define DEPTH_MAX 20000
#define CHOICES_MAX 64
#define KILL UINT8_MAX

struct choice {
	uint8_t thread, option; /* KILL: it dies */
};

/* A point that is gone back to: the world, the stacks, and what is still to be tried. */
struct frame {
	void *memory;
	size_t room;
	uint32_t node;
	unsigned depth, tried, count;
	struct choice choices[CHOICES_MAX];
};

struct edge {
	uint32_t from, to;
};

struct model_world world;
static const int kept_registers[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
static _Alignas(64) char stacks[MODEL_THREADS][STACK_BYTES];
static ucontext_t explorer;
static const struct model_scenario *playing;
static bool running, violated;
static char violation[512];

static struct choice path[DEPTH_MAX];
static struct model_operation path_operations[DEPTH_MAX];
static unsigned depth, order;

bool model_running(void)
{
	return running;
}

struct model_thread *model_self(void)
{
	return &world.threads[world.running];
}

/* Two hashes side by side: of a hundred million states two have the same key once in 10^22 runs. */
struct key {
	uint64_t low, high;
};

/* The keys of the states that were seen, and the numbers that they have in `edges`. */
static struct key *table;
static uint32_t *numbers;
static uint64_t table_room, states, states_limit;
static struct edge *edges;
static size_t edge_count, edge_room;
static uint8_t *reaches_end;

static void mix_word(struct key *key, uint64_t word)
{
	key->low = (key->low ^ word) * UINT64_C(0x9fb21c651e98df25);
	key->low ^= key->low >> 35;
	key->high = (key->high + word) * UINT64_C(0xd6e8feb86659fd93);
	key->high ^= key->high >> 32;
}

/* Memory that is mostly zeros, whose size is a multiple of 8. */
static void mix_sparse(struct key *key, const void *bytes, size_t byte_count)
{
	for (size_t at = 0; at < byte_count; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)bytes + at, sizeof(word));
		if (word) {
			mix_word(key, at);
			mix_word(key, word);
		}
	}
}

static void mix(struct key *key, const void *bytes, size_t byte_count)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= byte_count; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)bytes + at, sizeof(word));
		mix_word(key, word);
	}
}

static void *need(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "no memory\n");
	exit(2);
}

void model_violation(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(violation, sizeof(violation), format, arguments);
	va_end(arguments);
	violated = true;
	if (running)
		(void)setcontext(&explorer);
	fprintf(stderr, "%s\n", violation);
	exit(2);
}

const char *model_violation_text(void)
{
	return violation;
}

__attribute__((noinline)) static void leave(void)
{
	struct model_thread *self = model_self();
	char *here = __builtin_frame_address(0);

	self->stack_low = here - BELOW_BYTES;
	if (self->stack_low < stacks[world.running])
		model_violation("a thread's stack is too small for it");
	(void)swapcontext(&self->context, &explorer);
}

void model_yield(const struct model_operation *operation)
{
	struct model_thread *self = model_self();

	self->operation = *operation;
	leave();
}

void model_block(const void *waits_for)
{
	struct model_thread *self = model_self();

	self->status = MODEL_BLOCKED;
	self->waits_for = waits_for;
	self->operation = (struct model_operation){.kind = MODEL_SLEEP, .function = "waits", .text = ""};
	leave();
	self->status = MODEL_READY;
}

void model_wake_waiters(const void *word)
{
	for (unsigned at = 0; at < MODEL_THREADS; at++)
		if (world.threads[at].status == MODEL_BLOCKED && world.threads[at].waits_for == word)
			world.threads[at].status = MODEL_READY;
}

static void thread_main(void)
{
	playing->run(world.running);
	model_self()->status = MODEL_ENDED;
	model_self()->operation = (struct model_operation){.kind = MODEL_LOOK, .function = "ended", .text = ""};
	memset(&model_self()->view, 0, sizeof(struct model_view));
	(void)setcontext(&explorer);
}

/* The thread goes on until it is about to touch the next shared word. */
static void thread_go(unsigned number, unsigned option)
{
	world.running = number;
	world.threads[number].option = option;
	(void)swapcontext(&explorer, &world.threads[number].context);
}

static void thread_start(unsigned number)
{
	struct model_thread *thread = &world.threads[number];

	thread->status = MODEL_READY;
	thread->mortal = number && playing->mortal == number;
	for (unsigned at = 0; at < world.words_used; at++)
		thread->view.seen[at] = world.words[at].latest;
	(void)getcontext(&thread->context);
	thread->context.uc_stack.ss_sp = stacks[number];
	thread->context.uc_stack.ss_size = STACK_BYTES;
	thread->context.uc_link = NULL;
	makecontext(&thread->context, thread_main, 0);
	thread_go(number, 0);
}

static void world_begin(void)
{
	size_t words_at = offsetof(struct model_world, words);

	memset(&world, 0, words_at);
	running = false;
	model_memory_reset();
	playing->prepare();
	memset(&world.threads[0].view, 0, sizeof(struct model_view));
	running = true;
	for (unsigned number = 0; number < playing->threads && !violated; number++)
		thread_start(number);
	model_tidy();
}

static size_t world_bytes(void)
{
	return offsetof(struct model_world, words) + world.words_used * sizeof(struct model_word);
}

static size_t stack_bytes(unsigned number)
{
	const struct model_thread *thread = &world.threads[number];

	if (thread->status != MODEL_READY && thread->status != MODEL_BLOCKED)
		return 0;
	return (size_t)(stacks[number] + STACK_BYTES - thread->stack_low);
}

static void frame_keep(struct frame *frame)
{
	size_t bytes = world_bytes();
	char *to;

	for (unsigned number = 0; number < MODEL_THREADS; number++)
		bytes += stack_bytes(number);
	if (frame->room < bytes) {
		frame->room = bytes + 4096;
		free(frame->memory);
		frame->memory = need(malloc(frame->room));
	}
	to = frame->memory;
	memcpy(to, &world, world_bytes());
	to += world_bytes();
	for (unsigned number = 0; number < MODEL_THREADS; number++) {
		size_t part = stack_bytes(number);

		if (part)
			memcpy(to, world.threads[number].stack_low, part);
		to += part;
	}
}

static void frame_return(const struct frame *frame)
{
	const char *from = frame->memory;

	/* The length of a world is in its beginning. */
	memcpy(&world, from, offsetof(struct model_world, words));
	memcpy(&world, from, world_bytes());
	from += world_bytes();
	for (unsigned number = 0; number < MODEL_THREADS; number++) {
		size_t part = stack_bytes(number);

		if (part)
			memcpy(world.threads[number].stack_low, from, part);
		from += part;
	}
}

/*
 * Sleeps have numbers that only grow, and a thread that is about to store or compare one has it in its frames. All that
 * matters of one is whether it is the present sleep's; else a consumer that goes round would never be in the same state.
 */
static uint32_t sleep_hide(uint32_t half)
{
	if (half - MODEL_SLEEP_BEGIN > UINT16_MAX)
		return half;
	return half == world.rings[0].sleep_number ? MODEL_SLEEP_BEGIN + 1 : MODEL_SLEEP_BEGIN;
}

static void mix_frames(struct key *key, const char *low, const char *end)
{
	for (; low + sizeof(uint64_t) <= end; low += sizeof(uint64_t)) {
		uint32_t halves[2];

		memcpy(halves, low, sizeof(halves));
		mix_word(key, (uint64_t)sleep_hide(halves[1]) << 32 | sleep_hide(halves[0]));
	}
}

/* The state that a thread goes on with: its frames, and the registers that calls keep. */
static void mix_thread(struct key *key, unsigned number)
{
	const struct model_thread *thread = &world.threads[number];
	const char *low;

	mix_word(key, (uint64_t)thread->status);
	if (model_weak)
		mix_sparse(key, &thread->view, sizeof(thread->view));
	if (thread->status != MODEL_READY && thread->status != MODEL_BLOCKED)
		return;
	low = thread->stack_low + BELOW_BYTES;
	mix_frames(key, low, stacks[number] + STACK_BYTES);
	for (unsigned at = 0; at < sizeof(kept_registers) / sizeof(*kept_registers); at++) {
		uint64_t value = (uint64_t)thread->context.uc_mcontext.gregs[kept_registers[at]];

		mix_word(key, (value >> 32 << 32) | sleep_hide((uint32_t)value));
	}
}

static void mix_memory(struct key *key)
{
	for (unsigned at = 0; at < world.words_used; at++) {
		const struct model_word *word = &world.words[at];

		mix_word(key, (uint64_t)word->latest << 16 | (uint64_t)word->count << 8 | word->sequential);
		for (unsigned number = 0; number < word->count; number++) {
			mix_word(key, model_value_key(at, word->values[number].value));
			if (model_weak)
				mix_sparse(key, &word->values[number].view, sizeof(struct model_view));
		}
	}
}

static struct key world_key(void)
{
	struct key key = {1, 1};

	for (unsigned number = 0; number < playing->threads; number++)
		mix_thread(&key, number);
	mix(&key, &world.rings[0].head, 7 * sizeof(uint64_t));
	for (unsigned number = 0; number < MODEL_PRODUCERS; number++)
		mix(&key, &world.producers[number], sizeof(struct k2hft_producer));
	mix(&key, world.tallies, sizeof(world.tallies));
	mix_word(&key, (uint64_t)world.rings[0].claim_told << 2 | (uint64_t)world.awake << 1 | world.claimed);
	mix_memory(&key);
	return key;
}

static void table_grow(void)
{
	uint64_t room = table_room ? table_room * 2 : 1 << 16;
	struct key *larger = need(calloc(room, sizeof(*larger)));
	uint32_t *larger_numbers = need(calloc(room, sizeof(*larger_numbers)));

	for (uint64_t at = 0; at < table_room; at++) {
		uint64_t place = table[at].low & (room - 1);

		if (!(table[at].low | table[at].high))
			continue;
		while (larger[place].low | larger[place].high)
			place = (place + 1) & (room - 1);
		larger[place] = table[at];
		larger_numbers[place] = numbers[at];
	}
	free(table);
	free(numbers);
	table = larger;
	numbers = larger_numbers;
	table_room = room;
}

/* The number of the world as it is now; *fresh: it was not seen before. */
static uint32_t state_number(bool *fresh)
{
	struct key key = world_key();
	uint64_t place;

	if (states * 2 >= table_room)
		table_grow();
	place = key.low & (table_room - 1);
	while (table[place].low | table[place].high) {
		if (table[place].low == key.low && table[place].high == key.high) {
			*fresh = false;
			return numbers[place];
		}
		place = (place + 1) & (table_room - 1);
	}
	*fresh = true;
	table[place] = key;
	numbers[place] = (uint32_t)states;
	return (uint32_t)states++;
}

static void edge_add(uint32_t from, uint32_t to)
{
	if (edge_count == edge_room) {
		edge_room = edge_room ? edge_room * 2 : 1 << 16;
		edges = need(realloc(edges, edge_room * sizeof(*edges)));
	}
	edges[edge_count++] = (struct edge){from, to};
}

static bool one_dead(void)
{
	for (unsigned number = 0; number < MODEL_THREADS; number++)
		if (world.threads[number].status == MODEL_DEAD)
			return true;
	return false;
}

static unsigned choices_find(struct choice *choices)
{
	bool may_die = !one_dead();
	unsigned count = 0;

	for (unsigned number = 0; number < playing->threads; number++) {
		const struct model_thread *thread = &world.threads[number];
		bool woken = thread->status == MODEL_BLOCKED && !thread->waits_for && world.awake;
		unsigned options = thread->status == MODEL_READY ? model_options(thread) : woken;

		for (unsigned option = 0; option < options && count < CHOICES_MAX; option++)
			choices[count++] = (struct choice){(uint8_t)number, (uint8_t)option};
		if (thread->mortal && may_die && thread->status == MODEL_READY && count < CHOICES_MAX)
			choices[count++] = (struct choice){(uint8_t)number, KILL};
	}
	if (!count && world.threads[0].status == MODEL_BLOCKED && !world.threads[0].waits_for && model_timer())
		choices[count++] = (struct choice){0, 0};
	return count;
}

static void choice_make(struct choice choice)
{
	if (depth == DEPTH_MAX) {
		(void)snprintf(violation, sizeof(violation), "a run of %u steps", depth);
		violated = true;
		return;
	}
	path[depth] = choice;
	path_operations[depth++] = world.threads[choice.thread].operation;
	if (choice.option == KILL) {
		world.threads[choice.thread].status = MODEL_DEAD;
	} else {
		thread_go(choice.thread, choice.option);
	}
	model_tidy();
}

static void path_print(void)
{
	static const char *const kinds[] = {"loads", "stores", "updates", "sleeps", "calls", "calls"};
	char name[40];

	printf("    violated: %s\n", violation);
	for (unsigned at = depth > 120 ? depth - 120 : 0; at < depth; at++) {
		const struct model_operation *operation = &path_operations[at];

		printf("    %4u thread %u %s %s in %s (%s) %llx%s\n", at, path[at].thread,
		       path[at].option == KILL ? "dies before it" : kinds[operation->kind], operation->text,
		       operation->function,
		       operation->kind < MODEL_SLEEP ? model_word_name(operation->word, name, sizeof(name)) : "",
		       (unsigned long long)operation->value,
		       path[at].option && path[at].option != KILL ? " old value" : "");
	}
}

/* From every state an end must be within reach: else somebody waits, or goes round, for ever. */
static bool ends_reached(void)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t at = edge_count; at-- > 0;)
			if (!reaches_end[edges[at].from] && reaches_end[edges[at].to]) {
				reaches_end[edges[at].from] = 1;
				changed = true;
			}
	}
	for (uint64_t number = 0; number < states; number++)
		if (!reaches_end[number])
			return false;
	return true;
}

static bool end_is_right(void)
{
	if (model_end_check(playing))
		return true;
	violated = true;
	(void)snprintf(violation, sizeof(violation), "when all have stopped, not everything is as it must be");
	return false;
}

#define ALONE_MAX 64 /* steps without a choice; a circle of them must be seen as one */

static void choices_swap(struct frame *frame, unsigned one, unsigned other)
{
	struct choice kept = frame->choices[one];

	frame->choices[one] = frame->choices[other];
	frame->choices[other] = kept;
}

/*
 * In which order choices are tried. A run that ends at its limit has seen little of what follows from the other choices
 * of its first steps, so there are other orders; deaths come last in most places, else all are early ones.
 */
static void choices_order(struct frame *frame)
{
	unsigned ordered = 0, deaths = 0;
	uint64_t dice = ((uint64_t)order << 32 | frame->node) + depth;

	if (order == 0)
		return;
	for (; ordered + deaths < frame->count; dice++) {
		struct key key = {1, 1};
		unsigned left = frame->count - ordered - deaths, from;

		mix_word(&key, dice);
		from = ordered + (unsigned)(key.high >> 32) % left;
		if (frame->choices[from].option == KILL && key.high >> 8 & 7)
			choices_swap(frame, from, frame->count - ++deaths);
		else
			choices_swap(frame, from, ordered++);
	}
}

/* Goes on as long as there is one choice only. False: the run has ended here, well or badly. */
static bool frame_choose(struct frame *frame)
{
	frame->tried = 0;
	for (unsigned alone = 0; !violated; alone++) {
		frame->count = choices_find(frame->choices);
		if (frame->count > 1 || (frame->count == 1 && alone == ALONE_MAX)) {
			choices_order(frame);
			return true;
		}
		if (frame->count == 0)
			return end_is_right() && false;
		choice_make(frame->choices[0]);
	}
	return false;
}

static struct frame frames[DEPTH_MAX / 4];

/* The world as it is now becomes frames[level], unless it is known or at its end. */
static bool level_enter(unsigned level, uint32_t from, uint64_t *ends)
{
	struct frame *frame = &frames[level];
	bool fresh;

	frame->node = state_number(&fresh);
	if (level)
		edge_add(from, frame->node);
	if (!fresh)
		return false;
	if (states > states_limit) {
		return false;
	}
	if (!frame_choose(frame)) {
		(*ends)++;
		edge_add(frame->node, UINT32_MAX);
		return false;
	}
	frame->depth = depth;
	frame_keep(frame);
	return true;
}

static void depth_first(struct model_result *result)
{
	unsigned level = 0;
	bool entered;

	world_begin();
	depth = 0;
	entered = !violated && level_enter(0, 0, &result->ends);
	level = entered ? 1 : 0;
	while (level && !violated && !model_new_word && states <= states_limit) {
		struct frame *frame = &frames[level - 1];

		if (frame->tried == frame->count) {
			level--;
			continue;
		}
		if (level == sizeof(frames) / sizeof(*frames)) {
			violated = true;
			(void)snprintf(violation, sizeof(violation), "runs that are too long");
			break;
		}
		frame_return(frame);
		depth = frame->depth;
		choice_make(frame->choices[frame->tried++]);
		result->steps++;
		if (!violated && level_enter(level, frame->node, &result->ends))
			level++;
	}
}

static void liveness_check(void)
{
	size_t kept = 0;

	reaches_end = need(calloc(states, 1));
	for (size_t at = 0; at < edge_count; at++) {
		if (edges[at].to == UINT32_MAX)
			reaches_end[edges[at].from] = 1;
		else
			edges[kept++] = edges[at];
	}
	edge_count = kept;
	if (!ends_reached()) {
		violated = true;
		depth = 0;
		(void)snprintf(violation, sizeof(violation),
			       "there is a state from which no run ends: somebody waits for ever");
	}
	free(reaches_end);
}

/* An order, from the beginning. */
static void explore(uint64_t states_max, struct model_result *result)
{
	do {
		memset(result, 0, sizeof(*result));
		model_new_word = violated = false;
		model_cut = states = edge_count = 0;
		states_limit = states_max;
		if (table)
			memset(table, 0, table_room * sizeof(*table));
		depth_first(result);
	} while (model_new_word && !violated);
	result->exhausted = !violated && states <= states_limit;
	if (result->exhausted)
		liveness_check();
	running = false;
	result->states = states;
	result->cut = model_cut;
	result->violated = violated;
}

void model_explore(const struct model_scenario *scenario, uint64_t states_max, unsigned orders, bool trace,
		   struct model_result *result)
{
	struct model_result sum = {0};

	playing = scenario;
	model_words_forget();
	for (order = 0; order < orders && !sum.violated && !sum.exhausted; order++) {
		explore(states_max, result);
		sum.states += result->states;
		sum.steps += result->steps;
		sum.ends += result->ends;
		sum.cut += result->cut;
		sum.violated = result->violated;
		sum.exhausted = result->exhausted;
	}
	*result = sum;
	if (violated && trace)
		path_print();
	for (size_t at = 0; at < sizeof(frames) / sizeof(*frames) && frames[at].memory; at++) {
		free(frames[at].memory);
		frames[at] = (struct frame){0};
	}
}
