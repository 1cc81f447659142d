/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "app/rules/needles_block.h"
#include "random_help.h"

#define NEEDLES_MAX 128u
#define DATA_MAX 700u

#ifdef __x86_64__
#define WAYS (__builtin_cpu_supports("avx2") ? 2 : 1)
#else
#define WAYS 1
#endif

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(random_next(&seed) % limit);
}

struct sample {
	struct k2i_needle texts[NEEDLES_MAX];
	size_t count;
	char *pages; /* of data; those before and behind can't be read */
	char *data;
	size_t bytes;
	unsigned char wanted[DATA_MAX][NEEDLES_MAX]; /* whether a needle begins there */
};

static void text_add(struct sample *sample, const char *text, size_t bytes)
{
	struct k2i_needle *needle = &sample->texts[sample->count++];

	needle->text = malloc(bytes);
	needle->bytes = bytes;
	memcpy(needle->text, text, bytes);
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A page between two that can't be read; DATA_MAX fits. */
static void pages_make(struct sample *sample)
{
	const size_t bytes = page_bytes();

	sample->pages = mmap(NULL, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(sample->pages, MAP_FAILED);
	assert_int_equal(mprotect(sample->pages + bytes, bytes, PROT_READ | PROT_WRITE), 0);
}

/* At the begin of what can be read, or at its end. */
static void data_set(struct sample *sample, const char *data, size_t bytes, bool at_end)
{
	if (!sample->pages)
		pages_make(sample);
	sample->data = sample->pages + page_bytes() + (at_end ? page_bytes() - bytes : 0);
	sample->bytes = bytes;
	memcpy(sample->data, data, bytes);
}

static void wanted_set(struct sample *sample)
{
	for (size_t at = 0; at < sample->bytes; at++) {
		for (size_t i = 0; i < sample->count; i++)
			sample->wanted[at][i] =
				sample->texts[i].bytes <= sample->bytes - at &&
				memcmp(sample->data + at, sample->texts[i].text, sample->texts[i].bytes) == 0;
	}
}

static void sample_clear(struct sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		free(sample->texts[i].text);
	if (sample->pages)
		assert_int_equal(munmap(sample->pages, 3 * page_bytes()), 0);
	memset(sample, 0, sizeof(*sample));
}

/* Whether all that end before `from` have been taken out of what is wanted. */
static void none_is_behind(const struct sample *sample, size_t from)
{
	for (size_t at = 0; at < sample->bytes; at++) {
		for (size_t i = 0; i < sample->count; i++) {
			if (sample->wanted[at][i] && at + sample->texts[i].bytes <= from)
				fail_msg("needle %zu at %zu was not found up to %zu", i, at, from);
		}
	}
}

static void hit_check(struct sample *sample, const struct k2i_needle_hit *hit)
{
	assert_in_range(hit->at, 0, sample->bytes - 1);
	assert_in_range(hit->needle, 0, sample->count - 1);
	assert_int_equal(hit->bytes, sample->texts[hit->needle].bytes);
	if (!sample->wanted[hit->at][hit->needle])
		fail_msg("needle %u is not at %zu, or was found there before", hit->needle, hit->at);
	sample->wanted[hit->at][hit->needle] = 0;
}

static void all_are_found_by(struct sample *sample, bool with_avx2, size_t room)
{
	struct k2i_needle_hit *hits = malloc(room * sizeof(*hits));
	struct k2i_needles *needles;
	size_t from = 0;

	wanted_set(sample);
	assert_int_equal(k2i_needles_create(sample->texts, sample->count, &needles), 0);
	while (from < sample->bytes) {
		const size_t before = from;
		size_t count = k2i_needles_find_by(needles, sample->data, sample->bytes, &from, hits, room, with_avx2);

		assert_in_range(count, 0, room);
		assert_in_range(from, before + 1, sample->bytes);
		for (size_t i = 0; i < count; i++)
			hit_check(sample, &hits[i]);
		none_is_behind(sample, from);
	}
	k2i_needles_free(needles);
	free(hits);
}

static void all_are_found(struct sample *sample, const char *data, size_t bytes)
{
	for (int way = 0; way < 2 * WAYS; way++) {
		data_set(sample, data, bytes, way % 2);
		all_are_found_by(sample, way >= 2, sample->count);
		all_are_found_by(sample, way >= 2, sample->count + 64);
	}
}

TEST(each_is_found_wherever_it_is)
{
	static const char *const texts[] = {"q",     "ab",   "bad",
					    "error", "xxxy", "a text that is longer than all of the others are"};
	struct sample *sample = calloc(1, sizeof(*sample));
	char data[200];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		text_add(sample, texts[i], strlen(texts[i]));
	for (size_t i = 0; i < sample->count; i++) {
		const size_t bytes = sample->texts[i].bytes;

		for (size_t at = 0; at + bytes <= 120; at++) {
			memset(data, 'x', sizeof(data));
			memcpy(data + at, texts[i], bytes);
			all_are_found(sample, data, 120);
			all_are_found(sample, data, at + bytes);
			all_are_found(sample, data, at + bytes - 1);
		}
	}
	sample_clear(sample);
	free(sample);
}

/* Bytes of an alphabet: with a small one all needles are nearly everywhere. */
static void random_fill(char *text, size_t bytes, uint32_t alphabet)
{
	static const char some[] = "ab\0n \x80\xff\x8f\n\x11\x1a";

	for (size_t i = 0; i < bytes; i++)
		text[i] = alphabet < sizeof(some) ? some[below(alphabet)] : (char)below(alphabet);
}

static void random_round(struct sample *sample, uint32_t alphabet)
{
	const size_t count = 1 + (below(2) ? below(NEEDLES_MAX) : below(8)), bytes = below(DATA_MAX);
	char data[DATA_MAX], text[64];

	random_fill(data, sizeof(data), alphabet);
	for (size_t i = 0; i < count; i++) {
		size_t text_bytes = 1 + (below(2) ? below(6) : below(sizeof(text)));

		random_fill(text, text_bytes, alphabet);
		/* Half of them as they are in the data, some of those across its end. */
		if (below(2))
			memcpy(text, data + below((uint32_t)(sizeof(data) - text_bytes)), text_bytes);
		text_add(sample, text, text_bytes);
	}
	all_are_found(sample, data, bytes);
	sample_clear(sample);
}

TEST(as_many_as_there_are_are_found)
{
	struct sample *sample = calloc(1, sizeof(*sample));

	for (unsigned round = 0; round < 200; round++)
		random_round(sample, (uint32_t[]){2, 4, 11, 256}[round % 4]);
	free(sample);
}

TEST(nothing_is_found_for_nothing)
{
	struct k2i_needle_hit hit;
	struct k2i_needles *needles;
	size_t from = 0;

	assert_int_equal(k2i_needles_create(NULL, 0, &needles), 0);
	assert_int_equal(k2i_needles_find(needles, "some data", 9, &from, &hit, 1), 0);
	assert_int_equal(from, 9);
	k2i_needles_free(needles);
}
