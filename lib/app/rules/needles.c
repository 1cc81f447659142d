/* SPDX-License-Identifier: MIT */
/*
 * Each needle is noticed by its sign, three bytes in a row that are rare in what is logged. The signs are sorted into
 * buckets, one bit each, and tables say for each place of a sign which buckets have a byte there: where the three bytes
 * of data have a bucket in common, a needle may be. That is the algorithm Teddy of Hyperscan, which looks up 32 bytes
 * with one instruction, by their halves. A noticed place is then looked up by its first two bytes, and compared.
 */
#include "app/rules/needles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/rules/needles_block.h"

#define CHAINS 1024u
/* That are noticed before the first of them is looked at. */
#define PLACES (4 * K2I_SIGN_BLOCK)
#define NONE UINT32_MAX

struct entry {
	const char *text;
	size_t bytes;
	size_t at;           /* where its sign is in the text */
	uint32_t sign, mask; /* its bytes, the first of them lowest, and which those are */
	uint32_t next;       /* of the same chain; NONE */
};

struct k2i_needles {
	struct k2i_sign_tables tables;
	uint32_t chains[CHAINS]; /* by the first two bytes of the sign */
	uint32_t single;         /* those of one byte */
	size_t count;
	struct entry entries[];
};

/* Distributions compile for the oldest x86-64. */
#ifdef __x86_64__
#define AVX2_USABLE __builtin_cpu_supports("avx2")
#else
#define AVX2_USABLE false
#define k2i_signs_find_avx2 k2i_signs_find
#endif

/* How common a byte is in what is logged, roughly: the commonest first. */
static const char common_bytes[] = " e0tar1oisn2:lc-.d/p3mu4f5h6_987g=bk";

static unsigned commonness(char byte)
{
	const char *found = byte ? strchr(common_bytes, byte) : NULL;

	return found ? (unsigned)(sizeof(common_bytes) - (size_t)(found - common_bytes)) : 1;
}

static size_t sign_bytes(const struct entry *entry)
{
	return entry->bytes < K2I_SIGN_BYTES ? entry->bytes : K2I_SIGN_BYTES;
}

static size_t sign_choose(const struct entry *entry)
{
	const size_t bytes = sign_bytes(entry);
	unsigned best = UINT32_MAX;
	size_t chosen = 0;

	for (size_t at = 0; at + bytes <= entry->bytes; at++) {
		unsigned common = 1;

		for (size_t i = 0; i < bytes; i++)
			common *= commonness(entry->text[at + i]);
		if (common < best) {
			best = common;
			chosen = at;
		}
	}
	return chosen;
}

/* Up to K2I_SIGN_BYTES of `text`, as they are in an entry. */
static uint32_t sign_read(const char *text, size_t bytes)
{
	uint32_t sign = (unsigned char)text[0];

	if (bytes > 1)
		sign |= (uint32_t)(unsigned char)text[1] << 8;
	if (bytes > 2)
		sign |= (uint32_t)(unsigned char)text[2] << 16;
	return sign;
}

static unsigned chain_of(uint32_t sign)
{
	return ((sign & 0xff) * 37 + (sign >> 8 & 0xff) * 5) % CHAINS;
}

static void table_set(struct k2i_sign_tables *tables, unsigned at, unsigned byte, unsigned bucket)
{
	const unsigned eight = bucket / 8;
	const uint8_t bit = (uint8_t)(1u << bucket % 8);

	tables->bytes[at][byte] |= (uint16_t)(1u << bucket);
	tables->low[at][eight][byte % 16] |= bit;
	tables->high[at][eight][byte / 16] |= bit;
}

static void sign_set(struct k2i_sign_tables *tables, const struct entry *entry, unsigned bucket)
{
	const size_t bytes = sign_bytes(entry);

	for (unsigned at = 0; at < K2I_SIGN_BYTES; at++) {
		for (unsigned byte = 0; at >= bytes && byte < 256; byte++)
			table_set(tables, at, byte, bucket);
		if (at < bytes)
			table_set(tables, at, entry->sign >> 8 * at & 0xff, bucket);
	}
}

/* The bytes that a bucket notices, by their halves at each place. */
struct bucket {
	uint16_t low[K2I_SIGN_BYTES], high[K2I_SIGN_BYTES];
	uint64_t common; /* how often it does that, roughly */
};

static struct bucket bucket_with(struct bucket bucket, const struct entry *entry, const unsigned commonnesses[256])
{
	bucket.common = 1;
	for (unsigned at = 0; at < K2I_SIGN_BYTES; at++) {
		const uint32_t own = entry->sign >> 8 * at & 0xff;
		const bool any = at >= sign_bytes(entry);
		unsigned sum = 0;

		bucket.low[at] |= (uint16_t)(any ? 0xffff : 1u << own % 16);
		bucket.high[at] |= (uint16_t)(any ? 0xffff : 1u << own / 16);
		for (unsigned byte = 0; byte < 256; byte++)
			sum += (bucket.low[at] >> byte % 16 & bucket.high[at] >> byte / 16 & 1) * commonnesses[byte];
		bucket.common *= sum;
	}
	return bucket;
}

/* Signs that are alike come into one bucket: of others it would notice every mixture. */
static void buckets_fill(struct k2i_needles *needles)
{
	struct bucket buckets[K2I_SIGN_BUCKETS] = {0};
	const unsigned eights = needles->count > 8 ? K2I_SIGN_BUCKETS / 8 : 1;
	unsigned commonnesses[256];

	needles->tables.eights = eights;
	for (unsigned byte = 0; byte < 256; byte++)
		commonnesses[byte] = commonness((char)byte);
	for (size_t i = 0; i < needles->count; i++) {
		const struct entry *entry = &needles->entries[i];
		uint64_t least = UINT64_MAX;
		unsigned chosen = 0;

		for (unsigned at = 0; at < 8 * eights; at++) {
			struct bucket with = bucket_with(buckets[at], entry, commonnesses);

			if (with.common - buckets[at].common < least) {
				least = with.common - buckets[at].common;
				chosen = at;
			}
		}
		buckets[chosen] = bucket_with(buckets[chosen], entry, commonnesses);
		sign_set(&needles->tables, entry, chosen);
	}
}

int k2i_needles_create(const struct k2i_needle *texts, size_t count, struct k2i_needles **needles)
{
	struct k2i_needles *made = calloc(1, sizeof(*made) + count * sizeof(*made->entries));

	if (!made)
		return -ENOMEM;
	made->count = count;
	made->single = NONE;
	for (unsigned i = 0; i < CHAINS; i++)
		made->chains[i] = NONE;
	for (uint32_t i = 0; i < count; i++) {
		struct entry *entry = &made->entries[i];
		uint32_t *chain;

		entry->text = texts[i].text;
		entry->bytes = texts[i].bytes;
		entry->at = sign_choose(entry);
		entry->sign = sign_read(entry->text + entry->at, sign_bytes(entry));
		entry->mask = (UINT32_C(1) << 8 * sign_bytes(entry)) - 1;
		chain = entry->bytes < 2 ? &made->single : &made->chains[chain_of(entry->sign)];
		entry->next = *chain;
		*chain = i;
	}
	buckets_fill(made);
	*needles = made;
	return 0;
}

void k2i_needles_free(struct k2i_needles *needles)
{
	free(needles);
}

static unsigned buckets_of(const struct k2i_sign_tables *tables, const char *data)
{
	const unsigned char *sign = (const unsigned char *)data;

	return tables->bytes[0][sign[0]] & tables->bytes[1][sign[1]] & tables->bytes[2][sign[2]];
}

/* How many of the block's first `count` places; most blocks have none, so that is what is asked at first. */
static size_t block_look(const struct k2i_sign_tables *tables, const char *block, size_t count, size_t at,
			 size_t *places)
{
	size_t found = 0;
	unsigned any = 0;

	for (size_t i = 0; i < K2I_SIGN_BLOCK; i += 4)
		any |= buckets_of(tables, block + i) | buckets_of(tables, block + i + 1) |
		       buckets_of(tables, block + i + 2) | buckets_of(tables, block + i + 3);
	for (size_t i = 0; any && i < count; i++) {
		if (buckets_of(tables, block + i))
			places[found++] = at + i;
	}
	return found;
}

size_t k2i_signs_find(const struct k2i_sign_tables *tables, const char *data, size_t bytes, size_t *from,
		      size_t *places, size_t room)
{
	char last[K2I_SIGN_BLOCK + K2I_SIGN_BYTES - 1] = {0};
	size_t count = 0, at = *from;

	for (; room - count >= K2I_SIGN_BLOCK && bytes - at >= sizeof(last); at += K2I_SIGN_BLOCK)
		count += block_look(tables, data + at, K2I_SIGN_BLOCK, at, places + count);
	while (room - count >= K2I_SIGN_BLOCK && at < bytes) {
		const size_t left = bytes - at, step = left < K2I_SIGN_BLOCK ? left : K2I_SIGN_BLOCK;

		memcpy(memset(last, 0, sizeof(last)), data + at, left);
		count += block_look(tables, last, step, at, places + count);
		at += step;
	}
	*from = at;
	return count;
}

/* Those of a chain whose sign is at `at`, and that are around it. */
static size_t chain_look(const struct k2i_needles *needles, uint32_t chain, uint32_t sign, const char *data,
			 size_t bytes, size_t at, struct k2i_needle_hit *hits)
{
	size_t count = 0;

	for (uint32_t i = chain; i != NONE; i = needles->entries[i].next) {
		const struct entry *entry = &needles->entries[i];
		const size_t begin = at - entry->at;

		if ((sign & entry->mask) != entry->sign || entry->at > at || entry->bytes > bytes - begin)
			continue;
		if (memcmp(data + begin, entry->text, entry->bytes) == 0)
			hits[count++] = (struct k2i_needle_hit){begin, entry->bytes, i};
	}
	return count;
}

static size_t place_look(const struct k2i_needles *needles, const char *data, size_t bytes, size_t at,
			 struct k2i_needle_hit *hits)
{
	const uint32_t sign = sign_read(data + at, bytes - at);
	size_t count = chain_look(needles, needles->chains[chain_of(sign)], sign, data, bytes, at, hits);

	return count + chain_look(needles, needles->single, sign, data, bytes, at, hits + count);
}

size_t k2i_needles_find_by(const struct k2i_needles *needles, const char *data, size_t bytes, size_t *from,
			   struct k2i_needle_hit *hits, size_t room, bool with_avx2)
{
	size_t places[PLACES], count = 0;

	while (*from < bytes) {
		size_t found = 0;

		if (with_avx2)
			found = k2i_signs_find_avx2(&needles->tables, data, bytes, from, places, PLACES);
		found += k2i_signs_find(&needles->tables, data, bytes, from, places + found, PLACES - found);
		for (size_t i = 0; i < found; i++) {
			if (room - count < needles->count) {
				*from = places[i];
				return count;
			}
			count += place_look(needles, data, bytes, places[i], hits + count);
		}
	}
	return count;
}

size_t k2i_needles_find(const struct k2i_needles *needles, const char *data, size_t bytes, size_t *from,
			struct k2i_needle_hit *hits, size_t room)
{
	return k2i_needles_find_by(needles, data, bytes, from, hits, room, AVX2_USABLE);
}
