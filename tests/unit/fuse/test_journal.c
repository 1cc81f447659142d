/* SPDX-License-Identifier: MIT */
/*
 * Memory that outlives its process. Workers and their successors are processes, as in a mount, which end by SIGKILL; what
 * happens in the midst of a commit is gone through by the points of crash.def.
 */
#include "unit.h"
#include "ring_help.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "fuse/base/journal.h"
#include "fuse/intake/line_buffer.h"
#include "random_help.h"

#define MEBI ((size_t)1 << 20)
/* With its block a part of what there is of which no second one fits. */
#define PART_BYTES (sizeof(void *) > 4 ? 3072 * MEBI : 192 * MEBI)
#define AREA_BYTES 4096u

/* Memory that worker and successor share. */
struct places {
	char *one, *other;
	void *allocated;
	uint64_t random;
	char expected[AREA_BYTES];
	struct k2i_line_buffer text;
};
static struct places *places; /* in the shared memory */

static void must(bool condition, int line)
{
	if (!condition) {
		fprintf(stderr, "in a worker: line %d\n", line);
		_exit(1);
	}
}
#define MUST(condition) must(condition, __LINE__)

/* A process that does `work` and is killed then. */
static void killed_after(void (*work)(void))
{
	pid_t worker = fork();
	int status;

	if (worker == 0) {
		work();
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static struct k2hft_ring *nothing_sent(void)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = SMALL};
	struct k2hft_ring *ring = NULL;

	MUST(k2hft_ring_open(&options, &ring) == 0);
	return ring;
}

static int create(void **state)
{
	(void)state;
	if (k2i_journal_create(1))
		return -1;
	places = k2i_journal_alloc(sizeof(*places));
	memset(places, 0, sizeof(*places));
	places->one = k2i_journal_alloc(AREA_BYTES);
	places->other = k2i_journal_alloc(AREA_BYTES);
	memset(places->one, 'a', AREA_BYTES);
	memset(places->other, 'A', AREA_BYTES);
	k2i_journal_step();
	return 0;
}

static int destroy(void **state)
{
	(void)state;
	k2i_journal_destroy();
	return 0;
}

/* Its memory is for a program that knows it, and only as long as the mount has not ended. */
FIXTURE_TEST(looked_at, void *fixture, create, destroy)
{
	int fd = dup(k2i_journal_descriptor());
	uint64_t stays;

	if (k2i_journal_descriptor() < 0)
		skip();
	k2i_journal_stay();
	assert_int_equal(k2i_journal_look(fd, 1, &stays), 0);
	assert_int_equal(stays, 1);
	assert_int_equal(k2i_journal_look(fd, 2, &stays), -EINVAL);
	k2i_journal_destroy();
	assert_int_equal(k2i_journal_look(fd, 1, &stays), -ENOENT);
	MUST(ftruncate(fd, 8) == 0);
	assert_int_equal(k2i_journal_look(fd, 1, &stays), -EIO);
	MUST(close(fd) == 0);
}

static int taken_fd;

static void take_over(void)
{
	struct stat info;
	void *first = NULL;

	MUST(k2i_journal_take(taken_fd, 1, &first) == -EADDRINUSE); /* by itself */
	MUST(fstat(taken_fd, &info) == 0);
	MUST(munmap((void *)((uintptr_t)places & ~(uintptr_t)UINT32_MAX), (size_t)info.st_size) == 0);
	MUST(k2i_journal_take(taken_fd, 1, &first) == 0);
	MUST(first == places);
	MUST(*places->one == 'a');
}

/* Another process has the memory where it was, and undoes what the one before had not ended. */
FIXTURE_TEST(taken, void *fixture, create, destroy)
{
	taken_fd = dup(k2i_journal_descriptor());
	if (k2i_journal_descriptor() < 0)
		skip();
	k2i_journal_keep(places->one, AREA_BYTES);
	memset(places->one, 'b', AREA_BYTES);
	killed_after(take_over);
	assert_int_equal(*places->one, 'a');
	MUST(close(taken_fd) == 0);
}

/* Without k2i_journal_create it is memory as any other. */
TEST(of_its_own)
{
	char answer[] = "answer";
	const struct iovec part = {answer, sizeof(answer)};
	size_t bytes;
	char *text = k2i_journal_strdup("text");

	assert_string_equal(text, "text");
	k2i_journal_keep(text, 5);
	k2i_journal_step();
	assert_false(k2i_journal_answer(&part, 1));
	k2i_journal_step_answered();
	assert_null(k2i_journal_last_answer(&bytes));
	k2i_journal_free(text);
	k2i_journal_free(NULL);
	text = k2i_journal_alloc(0);
	assert_non_null(text);
	k2i_journal_free(text);
}

/* ---- steps */

static void one_step_and_a_half(void)
{
	k2i_journal_keep(places->one, 3);
	memcpy(places->one, "new", 3);
	k2i_journal_step();
	k2i_journal_keep(places->one + 1, 1);
	places->one[1] = 'X';
	k2i_journal_keep(places->other, 8);
	memset(places->other, 'X', 8);
	/* Again, and more of it: what counts is how it was when the step began. */
	k2i_journal_keep(places->one, 16);
	memset(places->one, 'Y', 16);
	k2i_journal_keep(places->other, 8);
	memset(places->other, 'Z', 8);
}

static void settle(void)
{
	struct k2hft_ring *ring = nothing_sent();

	k2i_journal_settle((const struct k2hft_ring *[]){NULL, ring});
	k2hft_ring_close(ring);
}

#define MEMORY_TEST(name) FIXTURE_TEST(name, void *fixture, create, destroy)

MEMORY_TEST(a_step_is_whole)
{
	killed_after(one_step_and_a_half);
	assert_memory_equal(places->one, "YYYYYYYYYYYYYYYYa", 17);
	killed_after(settle);
	assert_memory_equal(places->one, "newaaaaaaaaaaaaaa", 17);
	assert_memory_equal(places->other, "AAAAAAAAA", 9);
	/* Once more there is nothing to put back. */
	places->one[0] = 'k';
	killed_after(settle);
	assert_memory_equal(places->one, "kew", 3);
}

static size_t below(size_t limit)
{
	return (size_t)(random_next(&places->random) % limit);
}

static void anything(void)
{
	for (uint64_t left = below(400); left > 0; left--) {
		size_t at = below(AREA_BYTES), bytes = 1 + below(64);

		if (below(32) == 0) {
			k2i_journal_step();
			memcpy(places->expected, places->one, AREA_BYTES);
		}
		if (bytes > AREA_BYTES - at)
			bytes = AREA_BYTES - at;
		k2i_journal_keep(places->one + at, bytes);
		memset(places->one + at, (int)below(256), bytes);
	}
}

MEMORY_TEST(whatever_is_changed_is_put_back)
{
	memcpy(places->expected, places->one, AREA_BYTES);
	for (places->random = 1; places->random < 100000; places->random += 1000) {
		uint64_t seed = places->random;

		killed_after(anything);
		killed_after(settle);
		assert_memory_equal(places->one, places->expected, AREA_BYTES);
		places->random = seed;
	}
}

static void too_much_for_a_journal(void)
{
	char *large = k2i_journal_alloc(10 * MEBI), *larger = k2i_journal_alloc(10 * MEBI);

	MUST(large && larger);
	places->one = large;
	places->other = larger;
	large[0] = larger[0] = 'a';
	k2i_journal_step();
	k2i_journal_keep(large, 10 * MEBI);
	large[0] = 'b';
	k2i_journal_keep(larger, 10 * MEBI);
	larger[0] = 'b';
}

/* Half a step that is told of in half would be worse than a step that was too early. */
MEMORY_TEST(a_journal_that_is_full_ends_the_step)
{
	killed_after(too_much_for_a_journal);
	killed_after(settle);
	assert_int_equal(places->one[0], 'b');
	assert_int_equal(places->other[0], 'a');
}

/* A line that no journal has room for. */
static void long_line_goes_on(void)
{
	const char *line = k2i_journal_alloc(20 * MEBI);
	struct k2i_line_part part;

	MUST(line && k2i_line_buffer_hold(&places->text, memset(places->one, 'l', AREA_BYTES), AREA_BYTES) == 0);
	MUST(k2i_line_buffer_hold(&places->text, line, 20 * MEBI) == 0);
	k2i_journal_step();
	MUST(k2i_line_buffer_flush(&places->text, false, &part) == K2I_LINE_PIECE &&
	     part.bytes == AREA_BYTES + 20 * MEBI);
	MUST(places->text.held_bytes == 0);
}

MEMORY_TEST(what_is_held_is_so_again)
{
	killed_after(long_line_goes_on);
	killed_after(settle);
	assert_false(places->text.continued);
	assert_int_equal(places->text.held_bytes, AREA_BYTES + 20 * MEBI);
	assert_memory_equal(places->text.held, places->one, AREA_BYTES);
}

/* ---- memory */

static void allocated_in_half_a_step(void)
{
	k2i_journal_free(places->one);
	MUST(k2i_journal_alloc(AREA_BYTES) != places->one);
	/* Not kept: how the successor learns of it. */
	places->allocated = k2i_journal_alloc(AREA_BYTES);
	memset(places->allocated, 'x', AREA_BYTES);
}

static void settled_and_allocated(void)
{
	char *first, *second;

	settle();
	first = k2i_journal_alloc(AREA_BYTES);
	second = k2i_journal_alloc(AREA_BYTES);
	MUST(second == places->allocated);
	MUST(first != places->one && first != places->other);
}

/* Memory that half a step took is free again, and memory that it freed is in use. */
MEMORY_TEST(memory_goes_with_its_step)
{
	killed_after(allocated_in_half_a_step);
	killed_after(settled_and_allocated);
	assert_memory_equal(places->one, "aaaa", 4);
}

static void freed_in_a_step(void)
{
	k2i_journal_free(places->one);
	k2i_journal_step();
	MUST(k2i_journal_alloc(AREA_BYTES) == places->one);
	k2i_journal_free(NULL);
	MUST(strcmp(k2i_journal_strdup("some text"), "some text") == 0);
}

MEMORY_TEST(freed_memory_is_used_again)
{
	killed_after(freed_in_a_step);
}

static void many_large_ones(void)
{
	char *large[6];
	unsigned kept = 0;

	/* In front of them, so that none begins where a page does. */
	MUST(k2i_journal_strdup("short") != NULL);
	for (unsigned at = 0; at < 6; at++) {
		large[at] = k2i_journal_alloc(MEBI);
		MUST(large[at] != NULL);
		memset(large[at], 'x', MEBI);
	}
	for (unsigned at = 0; at < 6; at++)
		k2i_journal_free(large[at]);
	k2i_journal_step();
	for (unsigned at = 0; at < 6; at++) {
		large[at] = k2i_journal_alloc(MEBI);
		kept += large[at][MEBI / 2] == 'x';
		for (unsigned other = 0; other < at; other++)
			MUST(large[other] != large[at]);
	}
	/* The others have given their pages back. */
	MUST(kept == 4);
}

MEMORY_TEST(large_memory_is_given_back)
{
	killed_after(many_large_ones);
}

static void one_that_is_rare(void)
{
	char *rare = k2i_journal_alloc(5 * MEBI);

	MUST(rare != NULL);
	memset(rare, 'x', 5 * MEBI);
	k2i_journal_free(rare);
	k2i_journal_step();
	MUST(k2i_journal_alloc(5 * MEBI) == rare);
	MUST(rare[2 * MEBI] == '\0');
}

MEMORY_TEST(what_is_rare_is_given_back_at_once)
{
	killed_after(one_that_is_rare);
}

static void more_than_there_is(void)
{
	MUST(k2i_journal_alloc(SIZE_MAX / 2) == NULL);
	MUST(k2i_journal_alloc(PART_BYTES) != NULL);
	MUST(k2i_journal_alloc(PART_BYTES) == NULL);
	MUST(k2i_journal_alloc(AREA_BYTES) != NULL);
}

MEMORY_TEST(there_is_an_end)
{
	killed_after(more_than_there_is);
}

/* ---- answers */

static bool answer(const char *first, const char *second)
{
	const struct iovec parts[] = {{(char *)(uintptr_t)first, strlen(first)},
				      {(char *)(uintptr_t)second, strlen(second)}};

	return k2i_journal_answer(parts, 2);
}

static void answered(void)
{
	k2i_journal_keep(places->one, 3);
	memcpy(places->one, "new", 3);
	MUST(answer("first ", "answer"));
	k2i_journal_step_answered();
}

static void answered_twice_in_half(void)
{
	answered();
	k2i_journal_keep(places->one, 3);
	memcpy(places->one, "odd", 3);
	MUST(answer("second ", "answer"));
}

static void the_answer_is_there(void)
{
	const char *last;
	size_t bytes = 0;

	settle();
	last = k2i_journal_last_answer(&bytes);
	MUST(last && bytes == 12 && memcmp(last, "first answer", 12) == 0);
	/* It is given, and the next is on its way: it may not be taken for that. */
	MUST(answer("x", ""));
	MUST(k2i_journal_last_answer(&bytes) == NULL);
}

static void no_answer_is_there(void)
{
	char *large = calloc(1, MEBI);
	const struct iovec part = {large, MEBI};
	size_t bytes;

	settle();
	MUST(k2i_journal_last_answer(&bytes) == NULL);
	MUST(!k2i_journal_answer(&part, 1));
	free(large);
}

MEMORY_TEST(an_answer_counts_with_its_step)
{
	killed_after(no_answer_is_there);
	killed_after(answered);
	killed_after(the_answer_is_there);
	assert_memory_equal(places->one, "newa", 4);
	killed_after(answered_twice_in_half);
	killed_after(no_answer_is_there);
	assert_memory_equal(places->one, "newa", 4);
}

/* ---- commits: the ring decides */

static char folder[256], *ring_path;

static int create_with_ring(void **state)
{
	folder_make(folder, sizeof(folder));
	return asprintf(&ring_path, "%s/ring", folder) > 0 ? create(state) : -1;
}

static int destroy_with_ring(void **state)
{
	(void)unlink(ring_path);
	(void)rmdir(folder);
	free(ring_path);
	return destroy(state);
}

static struct k2hft_producer *claim(struct k2hft_ring *ring)
{
	struct k2hft_producer *producer = NULL;
	void *payload = NULL;

	MUST(k2hft_producer_open(ring, &producer) == 0);
	MUST(k2hft_producer_reserve(producer, 4, &payload) == 0);
	memcpy(payload, "text", 4);
	k2i_journal_keep(places->one, 3);
	memcpy(places->one, "new", 3);
	return producer;
}

static void commit_shared(size_t offset, int status, bool with_answer)
{
	struct k2hft_ring *ring = file_ring(ring_path, 0);
	struct k2hft_chunk chunk = chunk_of(stream_of(ring, "s"));
	struct k2hft_producer *producer = claim(ring);

	if (with_answer)
		MUST(answer("first ", "answer"));
	MUST(k2i_journal_commit(producer, 1, &chunk, offset, 4, with_answer) == status);
}

static void committed(void)
{
	commit_shared(0, 0, false);
}

static void committed_with_answer(void)
{
	commit_shared(0, 0, true);
}

static void not_committed(void)
{
	commit_shared(1, -EINVAL, true);
}

static void claimed_only(void)
{
	(void)claim(file_ring(ring_path, 0));
}

/* The successor finds so many chunks, and the answer if there is to be one. */
static void inherit(unsigned chunks, bool with_answer)
{
	struct k2hft_ring *ring = file_ring(ring_path, 0);
	struct k2hft_span span;
	size_t bytes;

	k2i_journal_settle((const struct k2hft_ring *[]){NULL, ring});
	MUST((k2i_journal_last_answer(&bytes) != NULL) == with_answer);
	MUST(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL) == (int)chunks);
	k2hft_ring_close(ring);
}

static void inherit_nothing(void)
{
	inherit(0, false);
}

static void inherit_one(void)
{
	inherit(1, false);
}

static void inherit_two_and_answer(void)
{
	inherit(2, true);
}

FIXTURE_TEST(a_commit_ends_its_step, void *fixture, create_with_ring, destroy_with_ring)
{
	killed_after(claimed_only);
	killed_after(inherit_nothing);
	assert_memory_equal(places->one, "aaaa", 4);
	killed_after(not_committed);
	killed_after(inherit_nothing);
	assert_memory_equal(places->one, "aaaa", 4);
	killed_after(committed);
	killed_after(inherit_one);
	assert_memory_equal(places->one, "newa", 4);
	killed_after(committed_with_answer);
	killed_after(inherit_two_and_answer);
}
