/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_NEAREST_H
#define K2I_BASE_NEAREST_H

#define K2I_NEAREST_NONE 99u

/*
 * For "did you mean": makes `known` the best guess at what `name` should have been if it is nearer than the best one so
 * far (start with NULL and K2I_NEAREST_NONE) and no more than a third of it differs. Case does not count.
 */
void k2i_nearest_consider(const char *name, const char *known, const char **best, unsigned *best_distance);

#endif
