/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_DAMAGE_H
#define K2I_RING_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/ring.h>

/*
 * Whether this consumer has mended damage, when it opened the ring or since, and around what: gaps between `*from` and
 * `*to` can be what was lost.
 */
bool k2i_ring_damage(const struct k2hft_ring *ring, uint64_t *from, uint64_t *to);

#endif
