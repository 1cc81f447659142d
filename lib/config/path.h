/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_PATH_H
#define K2I_CONFIG_PATH_H

#include <stdbool.h>

/* Names that a mount and a receiver have in their directories, and paths of files that a receiver takes. */
#define K2I_STAT_NAME ".k2hft-stat"      /* in the root of a mount: how things are */
#define K2I_RING_LINK_NAME ".k2hft-ring" /* and the link that leads to the ring */
#define K2I_STATE_NAME ".k2hft"          /* in FILE_BASEDIR: what the receiver keeps for itself */
#define K2I_PATH_PARTS_MAX 32u           /* of a file below FILE_BASEDIR */

/* Whether `path` is `above`, or below it. */
bool k2i_path_below(const char *path, const char *above);

/* Names of directories and of the file. */
unsigned k2i_path_parts(const char *path);

/* NULL, or why no file below FILE_BASEDIR can have that path. */
const char *k2i_path_refused(const char *path);

#endif
