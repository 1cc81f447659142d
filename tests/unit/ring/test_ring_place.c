/* SPDX-License-Identifier: MIT */
/* Files of a ring that were copied: the names of their chunks. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "ring/handle.h"
#include "ring/ring.h"

static void file_copy(const char *from, char to[PATH_MAX])
{
	int source = open(from, O_RDONLY | O_CLOEXEC), target;
	struct stat file;

	(void)snprintf(to, PATH_MAX, "%s.copy", from);
	(void)unlink(to);
	target = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(source >= 0 && target >= 0);
	assert_int_equal(fstat(source, &file), 0);
	while (file.st_size > 0) {
		ssize_t sent = sendfile(target, source, NULL, (size_t)file.st_size);

		assert_true(sent > 0);
		file.st_size -= sent;
	}
	(void)close(source);
	(void)close(target);
}

static struct k2i_ring_name name_of(const struct k2hft_ring *ring)
{
	struct k2i_ring_name name;

	k2i_ring_name(ring, &name);
	return name;
}

static void named(const struct k2hft_ring *ring, const struct k2hft_ring_stats *uuid_of)
{
	struct k2i_ring_name name = name_of(ring);

	assert_memory_equal(name.uuid, uuid_of->uuid, 16);
}

/* While the original is in use: neither its processes nor its claims are the copy's. */
FILES_TEST(chunks_of_a_copy_keep_their_names)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *copy;
	struct k2hft_producer *producer = producer_of(ring), *claimer = producer_of(ring), *other;
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_ring_stats original, copied;
	struct k2i_ring_name name;
	char path[PATH_MAX];

	assert_int_equal(push(producer, stream_id, "first"), 0);
	assert_int_equal(push(producer, stream_id, "second"), 0);
	original = stats_of(ring);
	(void)reserve(claimer, 8);
	assert_int_equal(push(producer, stream_id, "third"), 0);
	(void)take(ring, "first");
	file_copy(files->path, path);
	assert_int_equal(attach_answer(path), -ENOTCONN);
	copy = file_ring(path, 0);
	copied = stats_of(copy);
	assert_memory_not_equal(copied.uuid, original.uuid, 16);
	named(ring, &original);
	named(copy, &original);
	/* A claim was open: behind it the original can have what the copy has not. */
	name = name_of(copy);
	assert_int_equal(name.end, original.tail);
	assert_int_equal(name.epoch, 1);
	assert_false(name.begins);
	other = producer_of(copy);
	assert_int_equal(push(other, stream_of(copy, "s"), "fourth"), 0);
	(void)take(copy, "second");
	name = name_of(copy);
	named(copy, &copied);
	assert_int_equal(name.end, UINT64_MAX);
	assert_int_equal(name.epoch, 2);
	assert_true(name.begins);
	(void)take(copy, "third");
	assert_false(name_of(copy).begins);
	(void)take(copy, "fourth");
	k2hft_producer_close(other);
	k2hft_ring_close(copy);
	/* In its place it is itself. */
	copy = file_ring(path, 0);
	named(copy, &copied);
	k2hft_ring_close(copy);
	(void)unlink(path);
	assert_int_equal(commit(claimer, stream_id, 0, 8), 0);
	k2hft_producer_close(claimer);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* The next opening finds what one that was killed has left. */
FILES_TEST(naming_begins_again)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_ring_stats original, once, twice;
	struct k2i_ring_name name;

	assert_int_equal(push(producer, stream_of(ring, "s"), "first"), 0);
	k2hft_producer_close(producer);
	original = stats_of(ring);
	for (int openings = 0; openings < 2; openings++) {
		atomic_store(&ring->header->place, 1);
		k2hft_ring_close(ring);
		ring = file_ring(files->path, 0);
		twice = stats_of(ring);
		if (openings == 0)
			once = twice;
		named(ring, &original);
		name = name_of(ring);
		assert_int_equal(name.end, original.tail);
		assert_int_equal(name.epoch, 1);
	}
	assert_memory_not_equal(once.uuid, twice.uuid, 16);
	k2i_ring_name_drop(ring);
	named(ring, &twice);
	k2hft_ring_close(ring);
}
