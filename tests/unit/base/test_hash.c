/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "base/hash.h"
#include "base/hash_xxh3.h"

#define BYTES_MAX 5000u

static uint8_t bytes[BYTES_MAX];

/* The way that is chosen on this processor against the one that every processor has. */
TEST(every_way_gives_the_same)
{
	for (size_t at = 0; at < BYTES_MAX; at++)
		bytes[at] = (uint8_t)(at * 2654435761u >> 7);
	for (size_t count = 0; count <= BYTES_MAX; count += count < 600 ? 1 : 97)
		assert_true(k2i_hash(bytes, count) == hash_one(bytes, count));
}

TEST(a_pair_is_as_if_joined)
{
	for (size_t count = 0; count <= BYTES_MAX; count += count < 600 ? 1 : 97) {
		size_t first = count * 2 / 3;

		assert_true(k2i_hash_pair(bytes, first, bytes + first, count - first) == hash_one(bytes, count));
		assert_true(hash_two(bytes, first, bytes + first, count - first) == hash_one(bytes, count));
	}
}

/* XXH3-64 of nothing, as xxhash_spec.md and its test vectors have it. */
TEST(nothing_has_the_known_hash)
{
	assert_true(k2i_hash("", 0) == UINT64_C(0x2d06800538d394c2));
}

/*
 * Any text behind the first 8 of these 16 last bytes has the same hash if the seed is known, also behind a prefix that
 * is not. With another it has not.
 */
TEST(a_seed_tells_apart_what_was_made_to_be_the_same)
{
	uint8_t one[48] = "unknown", other[48] = "unknown";

	memcpy(one + 32,
	       "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
	       "12345678",
	       16);
	memcpy(other + 32,
	       "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
	       "abcdefgh",
	       16);
	assert_true(k2i_hash(one, sizeof(one)) == k2i_hash(other, sizeof(other)));
	assert_true(k2i_hash_seeded(one, sizeof(one), 0) == k2i_hash(one, sizeof(one)));
	for (uint64_t seed = 1; seed < 1000; seed++)
		assert_true(k2i_hash_seeded(one, sizeof(one), seed) != k2i_hash_seeded(other, sizeof(other), seed));
}
