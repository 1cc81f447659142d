/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_MAP_H
#define K2I_RING_MAP_H

#include "ring/handle.h"

/* Writes the header of a new ring into a file of zeros that has its full size. */
int k2i_ring_format(int descriptor, uint64_t capacity, uint64_t *seed);
/* Reads the header of a ring. -EPROTO: it is none, or is cut short: then `*cut` if it is not NULL. */
int k2i_ring_identify(int descriptor, struct k2i_ring_header *header, bool *cut);
/* Whether its positions can be; only if nobody was at work when it was read, else they are from different moments. */
bool k2i_ring_positions_valid(const struct k2i_ring_header *header);
int k2i_ring_map(struct k2hft_ring *ring, uint64_t capacity, uint64_t seed);
/* Whether there are addresses for it. */
int k2i_ring_map_check(uint64_t capacity);

/*
 * file.c: -EFBIG: this process may not write a file up to there. It would get SIGXFSZ, and a library must not be what
 * ends a program.
 */
int k2i_ring_limit_check(uint64_t bytes);
/* Files with room for a ring of `capacity`. Return a descriptor. */
int k2i_ring_memory_create(uint64_t capacity);
int k2i_ring_temporary_create(const char *folder, uint64_t capacity);
struct k2i_ring_found {
	uint64_t capacity, seed;
	bool elsewhere;     /* it is a copy, or was moved to another disk */
	uint64_t cut_bytes; /* to so many somebody had cut it, which has its length again, with zeros; 0: to none */
};
/* Opens `path` or makes it, of `found->capacity`, with the consumer's place taken. `found`: the ring that is in it then. */
int k2i_ring_file_open(const char *path, bool fresh, struct k2i_ring_found *found);
/* place.c: a number that another place has not, be it of the same file system or of another machine; 0: not known. */
uint64_t k2i_ring_place(int descriptor);
/* Whether the header says another place than the file has. */
bool k2i_ring_elsewhere(int descriptor, const struct k2i_ring_header *header);
/* name.c: for a new consumer of such a ring, before it mends it: the name of what comes. 0 or -EIO */
int k2i_ring_settle(struct k2hft_ring *ring);
/*
 * observe.c: a copy of all that stands before a ring's data, of a ring that somebody else uses: for reading, and
 * without data. `seen` must be closed also after an error.
 */
int k2i_observed_open(const char *path, struct k2hft_ring *seen);
void k2i_observed_close(struct k2hft_ring *seen);
/* alive.c: whether the file's consumer is there, judged by what its header says. */
bool k2i_consumer_alive(int descriptor, const struct k2i_ring_header *header);

#endif
