/* SPDX-License-Identifier: MIT */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "ring/handle.h"
#include "random_help.h"

static uint64_t waiting_of(const char *path, uint32_t flags)
{
	const struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .flags = flags};

	return k2i_ring_waiting(&options);
}

FILES_TEST(file_goes_on)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_ring_stats before, after;
	struct k2hft_span span;
	struct stat file;

	assert_int_equal(stat(files->path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_true(file.st_blocks * 512 >= file.st_size);
	assert_int_equal(push(producer, stream_id, "first"), 0);
	(void)take(ring, "first");
	assert_int_equal(push(producer, stream_id, "second"), 0);
	assert_int_equal(push(producer, stream_id, "third"), 0);
	assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
	k2hft_producer_close(producer);
	before = stats_of(ring);
	assert_int_equal(waiting_of(files->path, K2HFT_RING_FRESH), 0); /* it is in use, and stays */
	k2hft_ring_close(ring);
	assert_int_equal(waiting_of(files->path, K2HFT_RING_FRESH), 2);
	assert_int_equal(waiting_of(files->path, 0), 0);
	assert_int_equal(waiting_of(files->folder, K2HFT_RING_FRESH | K2HFT_RING_TEMPORARY), 0);
	assert_int_equal(waiting_of(files->leftover, K2HFT_RING_FRESH), 0);

	ring = file_ring(files->path, 0);
	after = stats_of(ring);
	assert_memory_equal(before.uuid, after.uuid, 16);
	assert_int_equal(before.epoch, 1);
	assert_int_equal(after.epoch, 2);
	assert_int_equal(after.read, before.head);
	assert_int_equal(after.streams, 0);
	assert_int_equal(after.committed_records, 3);
	assert_int_equal(after.acked_records, 1);
	/* The number of a stream with chunks in the ring is still its own. */
	assert_int_equal(stream_of(ring, "other"), stream_id + 1);
	assert_int_equal(stream_of(ring, "s"), stream_id);
	(void)take(ring, "second");
	(void)take(ring, "third");
	k2hft_ring_close(ring);

	ring = file_ring(files->path, K2HFT_RING_FRESH);
	after = stats_of(ring);
	assert_memory_not_equal(before.uuid, after.uuid, 16);
	assert_int_equal(after.epoch, 1);
	assert_int_equal(after.tail, 0);
	k2hft_ring_close(ring);
}

FILES_TEST(own_size_counts)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = files->path, .ring_bytes = 4 * SMALL};
	struct k2hft_ring *ring;

	k2hft_ring_close(file_ring(files->path, 0));
	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(stats_of(ring).ring_bytes, SMALL);
	k2hft_ring_close(ring);
	options.flags = K2HFT_RING_FRESH;
	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(stats_of(ring).ring_bytes, 4 * SMALL);
	k2hft_ring_close(ring);
}

FILES_TEST(one_consumer)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	int status = 0;
	pid_t child;

	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -EBUSY);
	child = fork();
	if (child == 0)
		_exit(open_answer(files->path, 0) == -EBUSY ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* A child that has the descriptor still has no lock of a closed ring, which the next consumer could not take then. */
	child = fork();
	while (child == 0 && pause())
		continue;
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	assert_int_equal(kill(child, SIGKILL) | (waitpid(child, &status, 0) != child), 0);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	k2hft_ring_close(ring);
	assert_int_equal(open_answer(files->path, 0), 0);
}

/* A child inherits the lock's descriptor; the consumer's place is free all the same when the consumer is killed. */
FILES_TEST(child_does_not_keep_the_place)
{
	int pipe_ends[2], status;
	pid_t consumer, grandchild;

	assert_int_equal(pipe(pipe_ends), 0);
	consumer = fork();
	if (consumer == 0) {
		(void)file_ring(files->path, 0);
		grandchild = fork();
		if (grandchild == 0) {
			for (;;)
				(void)pause();
		}
		(void)!write(pipe_ends[1], &grandchild, sizeof(grandchild));
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pipe_ends[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(kill(consumer, SIGKILL), 0);
	assert_int_equal(waitpid(consumer, &status, 0), consumer);
	assert_int_equal(attach_answer(files->path), -ENOTCONN);
	assert_int_equal(open_answer(files->path, 0), 0);
	assert_int_equal(kill(grandchild, SIGKILL), 0);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
}

/* A process that becomes another program is its consumer no more, though its pid and start stay. */
FILES_TEST(a_new_program_can_open_the_old_ones_ring)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)reserve(producer_of(file_ring(files->path, 0)), 100);
		(void)execl("/proc/self/exe", "again", files->path, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* As a program that was begun for that. */
static int open_again(const char *path)
{
	struct k2hft_ring *ring = file_ring(path, 0);
	struct k2hft_ring_stats stats = stats_of(ring);

	k2hft_ring_close(ring);
	return stats.epoch == 2 && stats.discarded_claims == 1 ? 0 : 1;
}

/* Without a descriptor it can't find out that the machine did not boot, and those who are attached live. */
FILES_TEST(short_of_descriptors_none_is_taken_for_dead)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *attached;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	unsigned limit = 0;
	int status;

	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	producer = producer_of(attached);
	stream_id = stream_of(attached, "s");
	*(char *)reserve(producer, 1) = 'x';
	k2hft_ring_close(ring);
	do {
		descriptors_limit(limit++);
		status = open_answer(files->path, 0);
		assert_true(status == 0 || status == -EMFILE);
	} while (status);
	descriptors_limit(RLIM_INFINITY);
	ring = file_ring(files->path, 0);
	assert_int_equal(stats_of(ring).discarded_claims, 0);
	assert_int_equal(commit(producer, stream_id, 0, 1), 0);
	(void)take(ring, "x");
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

/*
 * A process of now can have the number of an earlier one, and room that nobody had any more can be on the disk with
 * anything in it.
 */
FILES_TEST(after_a_boot_nobody_is_left)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *attached;
	struct k2hft_producer *producer;

	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	producer = producer_of(attached);
	(void)reserve(producer, 8);
	k2hft_ring_close(ring);
	memset(attached->header->boot_id, 0xee, sizeof(attached->header->boot_id));
	atomic_store(&k2i_entry_at(attached, 80)->mark, k2i_mark_make(attached, 80, K2I_KIND_CHUNK, 40));
	ring = file_ring(files->path, 0);
	assert_int_equal(stats_of(ring).discarded_claims, 1);
	assert_int_equal(stats_of(ring).producers, 0);
	assert_int_equal(atomic_load(&k2i_entry_at(ring, 80)->mark), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

FILES_TEST(attach_errors)
{
	int descriptor;

	assert_int_equal(attach_answer(files->path), -ENOENT);
	assert_int_equal(attach_answer(files->folder), -EISDIR);
	assert_int_equal(attach_answer("/dev/null"), -EPROTO);
	descriptor = open(files->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(attach_answer(files->path), -EPROTO);
	assert_int_equal(ftruncate(descriptor, 100 << 20), 0);
	assert_int_equal(attach_answer(files->path), -EPROTO);
	assert_int_equal(open_answer(files->path, 0), -EPROTO);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -EPROTO);
	assert_int_equal(ftruncate(descriptor, 0), 0);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), 0);
	assert_int_equal(attach_answer(files->path), -ENOTCONN);
	(void)close(descriptor);
}

FILES_TEST(empty_file_becomes_a_ring)
{
	int descriptor = open(files->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)close(descriptor);
	assert_int_equal(open_answer(files->path, 0), 0);
}

/* Attaches by `path`, sends "attached", waits for the byte that says go on, closes. Does not return. */
static void attached_process(const char *path, int go_on)
{
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_stream stream = {.path = "attached.log", .mode = K2HFT_STREAM_BINARY};
	uint32_t stream_id;
	char byte;

	if (k2hft_ring_attach(path, &ring) || k2hft_producer_open(ring, &producer) ||
	    k2hft_stream_declare(ring, &stream, &stream_id) || push(producer, stream_id, "attached"))
		_exit(1);
	if (read(go_on, &byte, 1) != 1)
		_exit(2);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	_exit(0);
}

static void attach_works(struct k2hft_ring *ring, const char *path)
{
	struct k2hft_chunk_view view;
	struct k2hft_stream stream;
	struct k2hft_span span;
	int go_on[2], status;
	size_t offset = 0;
	uint32_t generation;
	pid_t child;

	assert_int_equal(pipe(go_on), 0);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	child = fork();
	if (child == 0)
		attached_process(path, go_on[0]);
	assert_int_equal(readable(ring, 60000), 1);
	k2hft_ring_awake(ring);
	assert_int_equal(readable(ring, 0), 0);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 1);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_int_equal(k2hft_stream_find(ring, view.chunk.stream_id, &stream, &generation), 0);
	assert_string_equal(stream.path, "attached.log");
	assert_int_equal(stream.mode, K2HFT_STREAM_BINARY);
	assert_int_equal(stats_of(ring).producers, 1);
	assert_int_equal(write(go_on[1], "g", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(stats_of(ring).producers, 0);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	(void)close(go_on[0]);
	(void)close(go_on[1]);
}

FILES_TEST(attach_to_file)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);

	for (int count = 0; count < 3; count++)
		attach_works(ring, files->path);
	k2hft_ring_close(ring);
}

FILES_TEST(attach_to_memory_through_a_link)
{
	struct k2hft_ring *ring = memory_ring();
	char target[64];

	(void)snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), k2hft_ring_descriptor(ring));
	attach_works(ring, target);
	assert_int_equal(symlink(target, files->path), 0);
	attach_works(ring, files->path);
	k2hft_ring_close(ring);
}

FILES_TEST(errno_is_not_touched)
{
	struct k2hft_ring *ring, *attached;
	struct k2hft_producer *producer;

	errno = 77;
	ring = file_ring(files->path, 0);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(attach_answer("/nowhere"), -ENOENT);
	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	producer = producer_of(attached);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	assert_int_equal(push(producer, stream_of(attached, "s"), "x"), 0);
	k2hft_ring_awake(ring);
	(void)take(ring, "x");
	(void)reserve(producer, 8);
	assert_int_equal(k2hft_ring_recover(ring), 0);
	assert_int_equal(k2hft_ring_space_wait(ring, 1, 1), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
	assert_int_equal(errno, 77);
}

/* The work of a process before it is killed: 200 chunks, 100 acknowledged, a claim open in the middle. */
static void doomed_consumer(const char *path, int ready)
{
	struct k2hft_ring *ring = file_ring(path, 0);
	struct k2hft_producer *producer = producer_of(ring), *other = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "doomed");
	struct k2hft_span span;
	char text[32];

	for (int count = 0; count < 200; count++) {
		(void)snprintf(text, sizeof(text), "record %d", count);
		if (push(producer, stream_id, text))
			_exit(1);
		if (count == 150)
			memset(reserve(other, 5000), 'd', 5000);
	}
	for (int count = 0; count < 120; count++) {
		if (k2hft_ring_read(ring, 0, 0, &span, NULL) != 1)
			_exit(2);
		if (count < 100 && k2hft_ring_release(ring, span.position + span.bytes))
			_exit(3);
	}
	(void)reserve(producer, 100);
	(void)!write(ready, "r", 1);
	for (;;)
		(void)pause();
}

FILES_TEST(killed_consumer_loses_nothing)
{
	struct k2hft_ring *ring;
	int ready[2], status;
	char byte, text[32];
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
		doomed_consumer(files->path, ready[1]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	ring = file_ring(files->path, 0);
	assert_int_equal(stats_of(ring).epoch, 2);
	assert_int_equal(stats_of(ring).acked_records, 100);
	assert_int_equal(stats_of(ring).discarded_claims, 2);
	assert_int_equal(stats_of(ring).damaged_bytes, 0);
	assert_int_equal(stats_of(ring).producers, 0);
	assert_int_equal(k2hft_ring_validate(ring), 0);
	for (int count = 100; count < 200; count++) {
		(void)snprintf(text, sizeof(text), "record %d", count);
		assert_int_equal(take(ring, text) != 0, count == 151);
	}
	assert_nothing(ring, 0);
	assert_int_equal(stats_of(ring).head, stats_of(ring).tail);
	k2hft_ring_close(ring);
	(void)close(ready[0]);
}

/* Killed between the two stores of an acknowledgement. */
FILES_TEST(half_acknowledged)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

	assert_int_equal(push(producer, stream_id, "first"), 0);
	assert_int_equal(push(producer, stream_id, "second"), 0);
	atomic_store(&ring->header->acked, 40);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	assert_int_equal(stats_of(ring).head, 40);
	assert_int_equal(take(ring, "second"), 0);
	k2hft_ring_close(ring);
}

/* A process that is attached works on with the consumer that follows. */
FILES_TEST(attached_outlives_the_consumer)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *attached;
	struct k2hft_producer *producer;
	struct k2hft_stream stream;
	struct k2hft_span span;
	uint32_t stream_id, generation;

	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	producer = producer_of(attached);
	stream_id = stream_of(attached, "s");
	assert_int_equal(push(producer, stream_id, "before"), 0);
	(void)take(ring, "before");
	k2hft_ring_close(ring);
	assert_int_equal(push(producer, stream_id, "between"), 0);
	ring = file_ring(files->path, 0);
	assert_int_equal(stats_of(ring).streams, 1);
	(void)take(ring, "between");
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	k2hft_ring_awake(attached);
	assert_int_equal(push(producer, stream_id, "after"), 0);
	assert_int_equal(readable(ring, 60000), 1);
	(void)take(ring, "after");
	assert_int_equal(k2hft_ring_sleep(attached), -EINVAL);
	assert_int_equal(k2hft_ring_read(attached, SIZE_MAX, 0, &span, NULL), -EINVAL);
	assert_int_equal(k2hft_ring_rewind(attached, 0), -EINVAL);
	assert_int_equal(k2hft_ring_release(attached, 0), -EINVAL);
	assert_int_equal(k2hft_ring_repair(attached), -EINVAL);
	assert_int_equal(k2hft_ring_recover(attached), -EINVAL);
	assert_int_equal(k2hft_stream_find(attached, stream_id, &stream, &generation), -ENOENT);
	assert_int_equal(k2hft_ring_wake_descriptor(attached), -EINVAL);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

/* Random bytes over parts of a ring that holds something: opened and emptied, or refused; never more than that. */
FILES_TEST(garbage_is_refused_or_repaired)
{
	const off_t places[] = {0, 0, 384, 4096, 69632, 5636096};
	unsigned opened = 0, refused = 0;
	uint64_t seed = 1;

	for (unsigned round = 0; round < 300; round++) {
		struct k2hft_ring *ring = file_ring(files->path, K2HFT_RING_FRESH);
		struct k2hft_producer *producer = producer_of(ring);
		uint32_t stream_id = stream_of(ring, "s");
		struct k2hft_ring_options options = {.size = sizeof(options), .path = files->path};
		struct k2hft_span span;
		int descriptor, status;

		while (push(producer, stream_id, "a text that fills the ring with chunks") == 0)
			continue;
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
		descriptor = open(files->path, O_RDWR | O_CLOEXEC);
		for (unsigned count = 0; count <= round % 50; count++) {
			uint64_t random = random_next(&seed);
			uint32_t word = (uint32_t)(random >> 40) << random % 16;
			off_t room = round % 6 == 0 ? 128 : round % 6 < 3 ? 1000 : 60000;
			off_t at = places[round % 6] + (off_t)(random_next(&seed) % (uint64_t)room);

			assert_int_equal(pwrite(descriptor, &word, 1 + random_next(&seed) % 4, at) > 0, 1);
		}
		(void)close(descriptor);
		status = k2hft_ring_open(&options, &ring);
		assert_true(status == 0 || status == -EPROTO || status == -EBUSY);
		refused += status != 0;
		if (status) {
			assert_int_equal(unlink(files->path), 0);
			continue;
		}
		opened++;
		assert_int_equal(k2hft_ring_validate(ring), 0);
		while ((status = k2hft_ring_read(ring, 1000, 0, &span, NULL)) > 0)
			assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
		assert_int_equal(status, 0);
		k2hft_ring_close(ring);
	}
	assert_true(opened > 50 && refused > 20);
}

/* Three chunks; the file is cut to `bytes`, and opened: how many of them are still there. */
static unsigned chunks_left_by_cut(const char *path, uint64_t bytes)
{
	static const char *const texts[] = {"one", "two", "three"};
	struct k2hft_ring *ring = file_ring(path, K2HFT_RING_FRESH);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_ring_stats before, after;
	uint64_t from, to;
	unsigned left = 0;
	struct k2hft_span span;

	for (unsigned chunk = 0; chunk < 3; chunk++)
		assert_int_equal(push(producer, stream_id, texts[chunk]), 0);
	before = stats_of(ring);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	assert_int_equal(truncate(path, (off_t)bytes), 0);
	assert_int_equal(attach_answer(path), -EPROTO);
	ring = file_ring(path, 0);
	after = stats_of(ring);
	assert_memory_equal(after.uuid, before.uuid, sizeof(before.uuid));
	assert_int_equal(after.tail, before.tail);
	while (k2hft_ring_read(ring, 0, 0, &span, NULL) > 0) {
		size_t offset = 0;

		assert_chunk(&span, &offset, texts[left++]);
	}
	assert_int_equal(after.damaged_bytes, after.tail / 3 * (3 - left));
	k2hft_ring_close(ring);
	/* The one after can tell it, if this one did not. */
	ring = file_ring(path, 0);
	assert_int_equal(k2i_ring_damage(ring, &from, &to), left < 3);
	assert_int_equal(from, left < 3 ? after.tail / 3 * left : 0);
	assert_int_equal(to, left < 3 ? after.tail : 0);
	k2hft_ring_close(ring);
	return left;
}

FILES_TEST(cut_short_keeps_what_is_there)
{
	const uint64_t chunk_bytes = 40;

	assert_int_equal(chunks_left_by_cut(files->path, 4096), 0);
	assert_int_equal(chunks_left_by_cut(files->path, K2I_STREAMS_AT + 1000), 0);
	for (uint64_t bytes = 0; bytes < 4 * chunk_bytes; bytes++)
		assert_int_equal(chunks_left_by_cut(files->path, K2I_DATA_AT + bytes),
				 bytes / chunk_bytes < 3 ? bytes / chunk_bytes : 3);
}

/* The entry that lost its end can be the one that goes round the ring's end, or in the second lap. */
FILES_TEST(cut_short_in_a_later_lap)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	char text[1000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (unsigned chunk = 0; chunk < 100; chunk++) {
		assert_int_equal(push(producer, stream_id, text), 0);
		if (chunk < 90)
			(void)take(ring, text);
	}
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	/* The sixth of the last ten ends behind the cut. */
	uint64_t entry_bytes = 32 + 1000, at = 95 * entry_bytes % SMALL;
	assert_int_equal(truncate(files->path, (off_t)(K2I_DATA_AT + at + entry_bytes - 1)), 0);
	ring = file_ring(files->path, 0);
	for (unsigned chunk = 0; chunk < 5; chunk++)
		assert_int_equal(take(ring, text), 0);
	assert_nothing(ring, 0);
	assert_int_equal(stats_of(ring).damaged_bytes, 5 * entry_bytes);
	k2hft_ring_close(ring);
}

FILES_TEST(cut_within_the_header_is_refused)
{
	k2hft_ring_close(file_ring(files->path, 0));
	for (off_t bytes = 100; bytes > 0; bytes /= 3) {
		assert_int_equal(truncate(files->path, bytes), 0);
		assert_int_equal(open_answer(files->path, 0), -EPROTO);
		assert_int_equal(attach_answer(files->path), -EPROTO);
	}
}

static void header_write(const char *path, size_t at, const void *bytes, size_t byte_count)
{
	int descriptor = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(descriptor, bytes, byte_count, (off_t)at), byte_count);
	(void)close(descriptor);
}

/* With one field of the header changed it is no ring of this version; with it as it was, it is one again. */
#define REFUSED(path, field, value, attach_too)                                                                        \
	do {                                                                                                           \
		struct k2i_ring_header changed = before;                                                               \
		changed.field = (value);                                                                               \
		header_write(path, 0, &changed, sizeof(changed));                                                      \
		assert_int_equal(open_answer(path, 0), -EPROTO);                                                       \
		if (attach_too)                                                                                        \
			assert_int_equal(attach_answer(path), -EPROTO);                                                \
		header_write(path, 0, &before, sizeof(before));                                                        \
	} while (0)

FILES_TEST(other_versions_are_refused)
{
	struct k2i_ring_header before;
	int descriptor;

	k2hft_ring_close(file_ring(files->path, 0));
	descriptor = open(files->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(descriptor, &before, sizeof(before), 0), sizeof(before));
	(void)close(descriptor);
	REFUSED(files->path, magic, before.magic + 1, true);
	REFUSED(files->path, layout, before.layout + 1, true);
	REFUSED(files->path, features_incompatible, UINT64_C(1) << 63, true);
	REFUSED(files->path, slot_count, before.slot_count / 2, true);
	REFUSED(files->path, stream_count, before.stream_count / 2, true);
	REFUSED(files->path, stream_bytes, before.stream_bytes / 2, true);
	REFUSED(files->path, data_at, before.data_at - K2I_PAGE_BYTES_MAX, true);
	REFUSED(files->path, capacity, before.capacity - K2I_PAGE_BYTES_MAX / 2, true);
	REFUSED(files->path, capacity, before.capacity / 2, true);
	REFUSED(files->path, capacity, K2HFT_RING_BYTES_MAX * 2, true);
	REFUSED(files->path, tail, 4, false);
	REFUSED(files->path, acked, 8, false);
	REFUSED(files->path, head, 8, false);
	REFUSED(files->path, tail, before.capacity + 8, false);
	REFUSED(files->path, tail, UINT64_MAX - 7, false);
	before.features_compatible |= UINT64_C(1) << 63;
	header_write(files->path, 0, &before, sizeof(before));
	assert_int_equal(open_answer(files->path, 0), 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[0], "again") == 0)
		return open_again(argv[1]);
	return unit_run();
}
