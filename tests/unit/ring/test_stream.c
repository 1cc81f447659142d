/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

#include <signal.h>
#include <sys/wait.h>

#include "ring/handle.h"

static int declare(struct k2hft_ring *ring, const char *path, const char *host, uint32_t mode, uint32_t *stream_id)
{
	struct k2hft_stream stream = {.path = path, .host = host, .mode = mode};

	return k2hft_stream_declare(ring, &stream, stream_id);
}

RING_TEST(same_stream_same_number)
{
	uint32_t first, again, other;

	assert_int_equal(declare(ring, "a", NULL, K2HFT_STREAM_TEXT, &first), 0);
	assert_int_equal(declare(ring, "a", "", K2HFT_STREAM_TEXT, &again), 0);
	assert_int_equal(first, again);
	assert_int_not_equal(first, 0);
	assert_int_equal(declare(ring, "a", "host", K2HFT_STREAM_TEXT, &other), 0);
	assert_int_not_equal(first, other);
	assert_int_equal(declare(ring, "a", NULL, K2HFT_STREAM_BINARY, &again), 0);
	assert_int_not_equal(first, again);
	assert_int_not_equal(other, again);
	assert_int_equal(stats_of(ring).streams, 3);
}

RING_TEST(found_as_declared)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
	struct k2hft_stream found;
	uint32_t stream_id, generation;

	memset(path, 'p', sizeof(path));
	for (size_t at = 200; at < sizeof(path); at += 200)
		path[at] = '/';
	path[sizeof(path) - 1] = '\0';
	memset(host, 'h', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(declare(ring, path, host, K2HFT_STREAM_BINARY, &stream_id), 0);
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), 0);
	assert_string_equal(found.path, path);
	assert_string_equal(found.host, host);
	assert_int_equal(found.mode, K2HFT_STREAM_BINARY);
	assert_int_equal(k2hft_stream_find(ring, stream_id + 1, &found, &generation), -ENOENT);
	assert_int_equal(k2hft_stream_find(ring, 0, &found, &generation), -ENOENT);
	assert_int_equal(k2hft_stream_find(ring, UINT32_MAX, &found, &generation), -ENOENT);
}

RING_TEST(bad_streams)
{
	static const char *const paths[] = {"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/."};
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 2], host[K2HFT_STREAM_HOST_BYTES_MAX + 2];
	struct k2hft_stream stream = {.path = "a", .reserved = 1};
	uint32_t stream_id = 77;

	for (size_t at = 0; at < sizeof(paths) / sizeof(paths[0]); at++)
		assert_int_equal(declare(ring, paths[at], NULL, 0, &stream_id), -EINVAL);
	memset(path, 'p', sizeof(path));
	for (size_t at = 100; at < sizeof(path); at += 100)
		path[at] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(declare(ring, path, NULL, 0, &stream_id), -EINVAL);
	memset(host, 'h', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(declare(ring, "a", host, 0, &stream_id), -EINVAL);
	assert_int_equal(declare(ring, "a", "two\nlines", 0, &stream_id), -EINVAL);
	assert_int_equal(declare(ring, NULL, NULL, 0, &stream_id), -EINVAL);
	assert_int_equal(declare(ring, "a", NULL, 2, &stream_id), -EINVAL);
	assert_int_equal(k2hft_stream_declare(ring, &stream, &stream_id), -EINVAL);
	assert_int_equal(stream_id, 77);
	assert_int_equal(stats_of(ring).streams, 0);
}

/* A number waits for its chunks before it is given away, and tells by its generation that it was. */
RING_TEST(number_is_given_away_when_acknowledged)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "older"), other, generation_before, generation;
	struct k2hft_stream found;

	assert_int_equal(stream_of(ring, "older"), stream_id);
	assert_int_equal(push(producer, stream_id, "x"), 0);
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation_before), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), -EINVAL);
	assert_int_equal(stats_of(ring).streams, 0);
	other = stream_of(ring, "other");
	assert_int_not_equal(other, stream_id);
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), 0);
	assert_int_equal(generation, generation_before);
	assert_string_equal(found.path, "older");
	(void)take(ring, "x");
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), -ENOENT);
	assert_int_equal(stream_of(ring, "new"), stream_id);
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), 0);
	assert_int_not_equal(generation, generation_before);
	assert_string_equal(found.path, "new");
	assert_int_equal(k2hft_stream_release(ring, 0), -EINVAL);
	assert_int_equal(k2hft_stream_release(ring, 4097), -EINVAL);
	assert_int_equal(k2hft_stream_release(ring, 4000), -EINVAL);
	k2hft_producer_close(producer);
}

/* The number can be another stream's already. */
RING_TEST(nothing_is_committed_to_what_was_released)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "twice");

	assert_int_equal(stream_of(ring, "twice"), stream_id);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	assert_int_equal(push(producer, stream_id, "x"), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	assert_int_equal(push(producer, stream_id, "y"), -EINVAL);
	assert_int_equal(push(producer, 0, "z"), -EINVAL);
	assert_int_equal(push(producer, 4097, "z"), -EINVAL);
	(void)take(ring, "x");
	assert_nothing(ring, 0);
	k2hft_producer_close(producer);
}

/* The release does not wait for claims that others had then and gave back. */
RING_TEST(number_waits_for_no_claim_that_went_back)
{
	struct k2hft_producer *producer = producer_of(ring), *another = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "older");
	void *payload;

	assert_int_equal(push(producer, stream_id, "x"), 0);
	assert_int_equal(k2hft_producer_reserve(another, 1000, &payload), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	assert_int_equal(k2hft_producer_discard(another), 0);
	assert_int_not_equal(stream_of(ring, "other"), stream_id);
	(void)take(ring, "x");
	assert_int_equal(stream_of(ring, "new"), stream_id);
	k2hft_producer_close(another);
	k2hft_producer_close(producer);
}

/* It waits for the chunks of those who have committed some, whoever releases it last. */
RING_TEST(number_of_which_nothing_came_is_given_away_at_once)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t used = stream_of(ring, "used"), unused = stream_of(ring, "unused");

	assert_int_equal(push(producer, used, "x"), 0);
	assert_int_equal(k2hft_stream_withdraw(ring, unused), 0);
	assert_int_equal(k2hft_stream_withdraw(ring, unused), -EINVAL);
	assert_int_equal(stream_of(ring, "other"), unused);
	assert_int_equal(stream_of(ring, "used"), used);
	assert_int_equal(k2hft_stream_release(ring, used), 0);
	assert_int_equal(k2hft_stream_withdraw(ring, used), 0);
	assert_int_not_equal(stream_of(ring, "new"), used);
	(void)take(ring, "x");
	assert_int_equal(stream_of(ring, "newer"), used);
	k2hft_producer_close(producer);
}

/* A text as another process can write it, or leave it when it dies. */
TEST(spoiled_texts_are_nobodys)
{
	struct k2hft_ring *ring = memory_ring();
	struct k2i_stream *spoiled = ring->streams;
	struct k2hft_stream found;
	uint32_t stream_id, generation;

	assert_int_equal(declare(ring, "a", "host", 0, &stream_id), 0);
	memset(spoiled->host, 'h', sizeof(spoiled->host));
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), 0);
	assert_int_equal(strlen(found.host), K2HFT_STREAM_HOST_BYTES_MAX);
	for (unsigned how = 0; how < 3; how++) {
		atomic_store(&spoiled->generation, 2 * how + 4);
		if (how == 0)
			spoiled->mode = K2HFT_STREAM_BINARY + 1;
		else if (how == 1)
			memcpy(spoiled->path, "../a", 5);
		else
			memset(spoiled->path, 'p', sizeof(spoiled->path));
		assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), -ENOENT);
		spoiled->mode = K2HFT_STREAM_TEXT;
	}
	k2hft_ring_close(ring);
	ring = memory_ring();
	stream_id = stream_of(ring, "a");
	atomic_store(&ring->streams->generation, 3);
	assert_int_equal(k2hft_stream_find(ring, stream_id, &found, &generation), -ENOENT);
	assert_int_not_equal(stream_of(ring, "a"), stream_id);
	k2hft_ring_close(ring);
}

RING_TEST(table_is_full)
{
	uint32_t stream_id;
	char path[32];

	for (unsigned count = 0; count < 4096; count++) {
		(void)snprintf(path, sizeof(path), "stream-%u", count);
		assert_int_equal(declare(ring, path, NULL, 0, &stream_id), 0);
		assert_int_equal(stream_id, count + 1);
	}
	assert_int_equal(declare(ring, "one more", NULL, 0, &stream_id), -ENOSPC);
	assert_int_equal(declare(ring, "stream-7", NULL, 0, &stream_id), 0);
	assert_int_equal(k2hft_stream_release(ring, 100), 0);
	assert_int_equal(declare(ring, "one more", NULL, 0, &stream_id), 0);
	assert_int_equal(stream_id, 100);
}

/* Eight processes declare the same streams at once, and one of them is killed while it does so. */
RING_TEST(processes_declare_at_once)
{
	char link[64], path[32];
	pid_t children[8];

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)getpid(), k2hft_ring_descriptor(ring));
	for (int child = 0; child < 8; child++) {
		children[child] = fork();
		if (children[child] == 0) {
			struct k2hft_ring *attached;
			uint32_t stream_id;

			if (k2hft_ring_attach(link, &attached))
				_exit(1);
			for (int count = 0; child == 0 || count < 200; count++) {
				(void)snprintf(path, sizeof(path), "stream-%d", (count + child * 20) % 200);
				if (declare(attached, path, NULL, 0, &stream_id))
					_exit(2);
				if (child && k2hft_stream_release(attached, stream_id))
					_exit(3);
			}
			_exit(0);
		}
	}
	for (int child = 7; child >= 0; child--) {
		int status;

		if (child == 0)
			(void)kill(children[child], SIGKILL);
		assert_int_equal(waitpid(children[child], &status, 0), children[child]);
		assert_int_equal(status, child ? 0 : SIGKILL);
	}
	assert_true(stats_of(ring).streams <= 200);
	(void)stream_of(ring, "after all");
}

/* In another process: declares all streams that there can be, says so, and ends when it is told to. Does not return. */
static void declare_all(struct k2hft_ring *ring, int told, int tell)
{
	uint32_t stream_id;
	char path[32], byte = 0;

	for (unsigned count = 0; count < 4096; count++) {
		(void)snprintf(path, sizeof(path), "stream-%u", count);
		if (declare(ring, path, NULL, 0, &stream_id))
			_exit(1);
	}
	if (write(tell, &byte, 1) != 1 || read(told, &byte, 1) != 1)
		_exit(2);
	_exit(0);
}

struct declarer {
	pid_t pid;
	int to[2], from[2];
};

static struct declarer declarer_start(const char *path, int as_consumer)
{
	struct declarer made;
	struct k2hft_ring *ring;
	char byte;

	assert_int_equal(pipe(made.to), 0);
	assert_int_equal(pipe(made.from), 0);
	made.pid = fork();
	if (made.pid == 0) {
		struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .ring_bytes = SMALL};

		if (as_consumer ? k2hft_ring_open(&options, &ring) : k2hft_ring_attach(path, &ring))
			_exit(3);
		declare_all(ring, made.to[0], made.from[1]);
	}
	assert_int_equal(read(made.from[0], &byte, 1), 1);
	return made;
}

static void declarer_end(struct declarer *declarer)
{
	int status;

	assert_int_equal(write(declarer->to[1], "", 1), 1);
	assert_int_equal(waitpid(declarer->pid, &status, 0), declarer->pid);
	assert_int_equal(status, 0);
	for (int end = 0; end < 2; end++) {
		(void)close(declarer->to[end]);
		(void)close(declarer->from[end]);
	}
}

/* An attached process that ends without a release leaves nothing that is never free again. */
FILES_TEST(what_the_dead_declared_is_free_again)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	uint32_t own = stream_of(ring, "stream-0"), stream_id;
	struct declarer declarer = declarer_start(files->path, 0);

	assert_int_equal(declare(ring, "one more", NULL, 0, &stream_id), -ENOSPC);
	assert_int_equal(stream_of(ring, "stream-1"), 2);
	declarer_end(&declarer);
	assert_int_equal(declare(ring, "one more", NULL, 0, &stream_id), 0);
	/* Its own, and that which it had together with the other, stay. */
	assert_int_equal(stats_of(ring).streams, 3);
	assert_int_not_equal(stream_id, own);
	assert_int_not_equal(stream_id, 2);
	k2hft_ring_close(ring);
}

FILES_TEST(what_a_consumer_declared_is_its_successors)
{
	struct declarer declarer = declarer_start(files->path, 1);
	struct k2hft_ring *attached, *ring;
	uint32_t stream_id;

	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	declarer_end(&declarer);
	assert_int_equal(declare(attached, "one more", NULL, 0, &stream_id), -ENOSPC);
	ring = file_ring(files->path, 0);
	assert_int_equal(declare(attached, "one more", NULL, 0, &stream_id), -ENOSPC);
	assert_int_equal(stats_of(ring).streams_forgotten, 0);
	assert_int_equal(k2hft_stream_release(ring, 77), 0);
	assert_int_equal(declare(attached, "one more", NULL, 0, &stream_id), 0);
	assert_int_equal(stream_id, 77);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

/* Others can attach and declare before it asks: the number of streams does not say it. */
FILES_TEST(a_successor_knows_what_is_forgotten)
{
	struct k2hft_ring *attached, *ring = file_ring(files->path, 0);
	uint32_t stream_id;

	assert_int_equal(declare(ring, "before", NULL, 0, &stream_id), 0);
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	assert_int_equal(declare(attached, "behind", NULL, 0, &stream_id), 0);
	assert_int_equal(stats_of(ring).streams, 1);
	assert_int_equal(stats_of(ring).streams_forgotten, 1);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}
