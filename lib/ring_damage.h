/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_DAMAGE_H
#define K2I_RING_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/ring.h>

/*
 * Whether damage was mended, by this consumer or one before, that is not acknowledged yet, and around what: gaps between
 * `*from` and `*to` can be what was lost. Both 0 if not.
 */
bool k2i_ring_damage(const struct k2hft_ring *ring, uint64_t *from, uint64_t *to);

#endif
