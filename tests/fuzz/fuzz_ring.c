/* SPDX-License-Identifier: MIT */
/*
 * A ring in a file, damaged before it is opened and while it is used, by its consumer and by a process that attached.
 * The input is a row of operations; tests/fuzz/corpus.py writes some.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>

#include <k2hft/frame.h>

#include "fuzz.h"
#include "ring/handle.h"

#define OPERATIONS_MAX 64u
/* State that inputs can change, and that every run begins with anew: header, some slots, some streams, the data. */
#define SLOTS_TOUCHED 16u
#define STREAMS_TOUCHED 16u
#define DATA_BYTES K2HFT_RING_BYTES_MIN
#define STREAMS_TOUCHED_END (K2I_STREAMS_AT + STREAMS_TOUCHED * sizeof(struct k2i_stream))
#define SEED UINT64_C(0x0123456789abcdef)

/* In place of libc's: to close a watch takes milliseconds, and a ring does without. */
int inotify_init1(int flags)
{
	(void)flags;
	errno = EMFILE;
	return -1;
}

static struct {
	char path[300];
	int descriptor;
	uint8_t *memory; /* of the file, as another process has it */
	uint8_t *first;  /* as it was */
	uint32_t stream_id;
} file;

struct world {
	struct fuzz_input input;
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_span span;
	uint32_t stream_id;
	bool cut; /* the file is shorter: not to be touched by its memory */
};

/* The file ------------------------------------------------------------------------------------------------------- */

static struct k2hft_ring *ring_open(int *error)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = file.path, .ring_bytes = DATA_BYTES};
	struct k2hft_ring *ring = NULL;

	*error = k2hft_ring_open(&options, &ring);
	return *error ? NULL : ring;
}

/* Inputs name positions, so tags must be the same in every process. */
static void seed_set(void)
{
	int descriptor = open(file.path, O_RDWR | O_CLOEXEC);
	uint64_t seed = SEED;

	fuzz_check(descriptor >= 0);
	fuzz_check(pwrite(descriptor, &seed, sizeof(seed), offsetof(struct k2i_ring_header, seed)) == sizeof(seed));
	fuzz_check(close(descriptor) == 0);
}

static void entries_make(struct k2hft_ring *ring)
{
	static const char text[200] = "an entry";
	struct k2hft_stream stream = {.path = "a/b.log", .host = "host"};
	struct k2hft_producer *producer, *other;
	struct k2hft_chunk chunk = {.record_count = 1, .time_ns = 7, .writer_pid = 8};
	void *payload;

	fuzz_check(k2hft_stream_declare(ring, &stream, &file.stream_id) == 0);
	fuzz_check(k2hft_producer_open(ring, &producer) == 0 && k2hft_producer_open(ring, &other) == 0);
	chunk.stream_id = file.stream_id;
	for (size_t bytes = 1; bytes <= sizeof(text); bytes += 19) {
		fuzz_check(k2hft_producer_push(producer, &chunk, text, bytes) == 0);
		if (bytes % 2)
			continue;
		fuzz_check(k2hft_producer_reserve(other, bytes, &payload) == 0);
		fuzz_check(k2hft_producer_push(producer, &chunk, text, bytes) == 0);
		fuzz_check(k2hft_producer_discard(other) == 0);
	}
	k2hft_producer_close(other);
	k2hft_producer_close(producer);
}

static void file_make(void)
{
	struct k2hft_ring *ring;
	int error;

	(void)snprintf(file.path, sizeof(file.path), "%s/ring", fuzz_folder());
	k2hft_ring_close(ring_open(&error));
	fuzz_check(error == 0);
	seed_set();
	ring = ring_open(&error);
	fuzz_check(error == 0);
	entries_make(ring);
	k2hft_ring_close(ring);
	file.descriptor = open(file.path, O_RDWR | O_CLOEXEC);
	fuzz_check(file.descriptor >= 0);
	file.memory = mmap(NULL, K2I_DATA_AT + DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
	fuzz_check(file.memory != MAP_FAILED);
	file.first = fuzz_copy(file.memory, K2I_DATA_AT + DATA_BYTES);
}

static void part_restore(size_t from, size_t to)
{
	memcpy(file.memory + from, file.first + from, to - from);
}

static void file_restore(void)
{
	fuzz_check(ftruncate(file.descriptor, (off_t)(K2I_DATA_AT + DATA_BYTES)) == 0);
	part_restore(0, K2I_SLOTS_AT + SLOTS_TOUCHED * sizeof(struct k2i_slot));
	part_restore(K2I_STREAMS_AT, STREAMS_TOUCHED_END);
	part_restore(K2I_DATA_AT, K2I_DATA_AT + DATA_BYTES);
}

/* Operations ------------------------------------------------------------------------------------------------------ */

static void poke(struct world *world, size_t at, uint64_t value)
{
	if (!world->cut)
		memcpy(file.memory + at, &value, sizeof(value));
}

/* A number that is likely to matter somewhere, or any. */
static uint64_t value_take(struct fuzz_input *input)
{
	static const uint64_t values[] = {0, 1, 7, UINT64_MAX, UINT64_MAX - 7, DATA_BYTES, (uint64_t)1 << 63};
	unsigned which = fuzz_u8(input);

	return which < sizeof(values) / sizeof(values[0]) ? values[which] : fuzz_u64(input);
}

static uint64_t position_take(struct fuzz_input *input)
{
	return (uint64_t)fuzz_u16(input) * 8;
}

static size_t data_at(uint64_t position)
{
	return K2I_DATA_AT + (position & (DATA_BYTES - 1) & ~UINT64_C(7));
}

static uint64_t mark(uint64_t position, unsigned kind, uint64_t size)
{
	struct k2hft_ring ring = {.seed = SEED};

	return k2i_mark_make(&ring, position, kind & 15, size & K2I_MARK_SIZE_MASK);
}

static void header_poke(struct world *world)
{
	size_t word = fuzz_u8(&world->input) % (sizeof(struct k2i_ring_header) / 8);

	poke(world, word * 8, value_take(&world->input));
}

static void slot_poke(struct world *world)
{
	size_t slot = fuzz_u8(&world->input) % SLOTS_TOUCHED, field = fuzz_u8(&world->input) % 8;

	poke(world, K2I_SLOTS_AT + slot * sizeof(struct k2i_slot) + field * 8, fuzz_u64(&world->input));
}

static void stream_poke(struct world *world)
{
	size_t stream = fuzz_u8(&world->input) % STREAMS_TOUCHED;
	size_t word = fuzz_u16(&world->input) % (sizeof(struct k2i_stream) / 8);
	uint64_t byte = fuzz_u8(&world->input);

	poke(world, K2I_STREAMS_AT + stream * sizeof(struct k2i_stream) + word * 8,
	     byte * UINT64_C(0x0101010101010101));
}

static void mark_poke(struct world *world)
{
	uint64_t position = position_take(&world->input);
	unsigned kind = fuzz_u8(&world->input);

	poke(world, data_at(position), mark(position, kind, (uint64_t)fuzz_u16(&world->input) * 8));
}

static void chunk_poke(struct world *world)
{
	uint64_t position = position_take(&world->input), size = (uint64_t)fuzz_u16(&world->input) * 8;
	uint64_t stream_id = fuzz_u8(&world->input), records = fuzz_u8(&world->input);
	uint64_t lead = fuzz_u8(&world->input), pad = fuzz_u8(&world->input), flags = fuzz_u8(&world->input);

	poke(world, data_at(position), mark(position, K2I_KIND_CHUNK, size));
	poke(world, data_at(position + 8), stream_id | records << 32);
	poke(world, data_at(position + 24), lead << 32 | pad << 40 | flags << 48);
}

static void ring_close(struct world *world)
{
	k2hft_producer_close(world->producer);
	world->producer = NULL;
	k2hft_ring_close(world->ring);
	world->ring = NULL;
	world->span = (struct k2hft_span){0};
}

static void ring_begin(struct world *world)
{
	int error;

	if (world->ring)
		return;
	world->ring = ring_open(&error);
	fuzz_check(world->ring || error == -EPROTO || error == -EBUSY || error == -EMFILE);
	world->stream_id = file.stream_id;
	if (world->ring && k2hft_producer_open(world->ring, &world->producer))
		world->producer = NULL;
}

/* Chunks of the ring are chunks for every reader. */
static void span_check(const struct k2hft_span *span, int count)
{
	struct k2hft_chunk_view view;
	size_t offset = 0;
	uint64_t records = 0, sum = 0;
	int chunks = 0;

	while (k2hft_chunk_next(span->data, span->bytes, span->position, &offset, &view) > 0) {
		chunks++;
		records += view.chunk.record_count;
		for (size_t at = 0; at < view.payload_bytes; at++)
			sum += view.payload[at];
	}
	fuzz_check(offset == span->bytes && chunks == count && span->chunk_count == (uint32_t)count);
	fuzz_check(records == span->record_count);
	(void)sum;
}

static void read_one(struct world *world)
{
	size_t bytes_max = fuzz_u16(&world->input);
	uint64_t records_max = fuzz_u8(&world->input);
	int claimed = 0, count = k2hft_ring_read(world->ring, bytes_max, records_max, &world->span, &claimed);

	fuzz_check(count >= 0 || count == -EBADMSG);
	if (count > 0)
		span_check(&world->span, count);
	else
		world->span = (struct k2hft_span){0};
}

static void release_one(struct world *world)
{
	uint64_t position = world->span.position + world->span.bytes;

	if (fuzz_u8(&world->input) & 1)
		position = position_take(&world->input);
	(void)k2hft_ring_release(world->ring, position);
}

static void rewind_one(struct world *world)
{
	uint64_t position = world->span.position;

	if (fuzz_u8(&world->input) & 1)
		position = position_take(&world->input);
	(void)k2hft_ring_rewind(world->ring, position);
}

static void repair(struct world *world)
{
	int mended = k2hft_ring_repair(world->ring);

	fuzz_check(mended >= 0);
	fuzz_check(k2hft_ring_validate(world->ring) == 0);
}

static void push(struct k2hft_producer *producer, uint32_t stream_id, size_t bytes)
{
	static const uint8_t payload[256];
	struct k2hft_chunk chunk = {.stream_id = stream_id, .record_count = 1};

	if (producer && bytes)
		(void)k2hft_producer_push(producer, &chunk, payload, bytes);
}

static void declare(struct world *world)
{
	char path[8] = {'s', (char)('a' + fuzz_u8(&world->input) % 4), '\0'};
	struct k2hft_stream stream = {.path = path}, found;
	uint32_t generation;

	if (k2hft_stream_declare(world->ring, &stream, &world->stream_id) == 0 && fuzz_u8(&world->input) & 1)
		(void)k2hft_stream_release(world->ring, world->stream_id);
	for (uint32_t id = 0; id <= STREAMS_TOUCHED; id++) {
		if (k2hft_stream_find(world->ring, id, &found, &generation))
			continue;
		fuzz_check(k2hft_stream_path_check(found.path, strlen(found.path)) == 0);
		fuzz_check(strlen(found.host) <= K2HFT_STREAM_HOST_BYTES_MAX);
	}
}

/* As another process would; it takes as long as the ring has a consumer. */
static void attach(struct world *world)
{
	struct k2hft_ring *attached;
	struct k2hft_producer *producer;
	size_t bytes = fuzz_u8(&world->input);

	if (k2hft_ring_attach(file.path, &attached))
		return;
	if (k2hft_producer_open(attached, &producer) == 0) {
		push(producer, world->stream_id, bytes);
		k2hft_producer_close(producer);
	}
	(void)k2hft_ring_validate(attached);
	k2hft_ring_close(attached);
}

static void cut(struct world *world)
{
	uint64_t bytes = 1 + (uint64_t)fuzz_u16(&world->input) * 128;

	if (world->ring || bytes > K2I_DATA_AT + DATA_BYTES)
		return;
	fuzz_check(ftruncate(file.descriptor, (off_t)bytes) == 0);
	world->cut = true;
}

static void look(struct world *world)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	fuzz_check(k2hft_ring_stats(world->ring, &stats) == 0);
	if (k2hft_ring_sleep(world->ring) == 1)
		k2hft_ring_awake(world->ring);
}

static void ring_operation(struct world *world, unsigned operation)
{
	if (!world->ring)
		return;
	switch (operation) {
	case 7:
		ring_close(world);
		break;
	case 8:
		read_one(world);
		break;
	case 9:
		release_one(world);
		break;
	case 10:
		rewind_one(world);
		break;
	case 11:
		fuzz_check(k2hft_ring_validate(world->ring) >= 0);
		break;
	case 12:
		repair(world);
		break;
	case 13:
		fuzz_check(k2hft_ring_recover(world->ring) >= 0);
		break;
	case 14:
		world->stream_id = fuzz_u8(&world->input);
		push(world->producer, world->stream_id, fuzz_u8(&world->input));
		break;
	case 15:
		declare(world);
		break;
	case 16:
		attach(world);
		break;
	default:
		look(world);
		break;
	}
}

static void operation_run(struct world *world)
{
	unsigned operation = fuzz_u8(&world->input) % 19;

	switch (operation) {
	case 0:
		header_poke(world);
		break;
	case 1:
		slot_poke(world);
		break;
	case 2:
		stream_poke(world);
		break;
	case 3: {
		uint64_t position = position_take(&world->input);

		poke(world, data_at(position), value_take(&world->input));
		break;
	}
	case 4:
		mark_poke(world);
		break;
	case 5:
		chunk_poke(world);
		break;
	case 6:
		ring_begin(world);
		break;
	case 17:
		cut(world);
		break;
	default:
		ring_operation(world, operation);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = {.input = {data, size}};

	fuzz_log_open();
	if (!file.memory)
		file_make();
	for (unsigned count = 0; count < OPERATIONS_MAX && world.input.left; count++)
		operation_run(&world);
	ring_close(&world);
	file_restore();
	return 0;
}
