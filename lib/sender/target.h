/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_TARGET_H
#define K2I_SENDER_TARGET_H

#include <k2hft/client.h>

/* Copies of what the caller of a sender gives it, which the sender needs for lanes that come later. 0 or -ENOMEM */
int k2i_target_copy(const struct k2hft_target *target, struct k2hft_target *copy);
void k2i_target_free(struct k2hft_target *copy);

#endif
