/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_ROTATION_H
#define K2I_CONFIG_ROTATION_H

#include <stdint.h>

/* ROTATE_KEEP: sealed files that stay; 0: no limit. */
struct k2i_keep {
	uint64_t count; /* of each output file */
	uint64_t seconds;
	uint64_t bytes; /* of all together */
};

/* ROTATE_TIME; NULL: 0 seconds. -EINVAL */
int k2i_period_parse(const char *text, uint64_t *seconds);
/* NULL: no limit. -EINVAL */
int k2i_keep_parse(const char *text, struct k2i_keep *keep);

#endif
