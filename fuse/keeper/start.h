/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_START_H
#define K2I_FUSE_KEEPER_START_H

#include <stdbool.h>
#include <sys/types.h>

struct k2i_mount;
struct k2i_mount_options;

/* Exit statuses. */
#define K2I_STATUS_FAILED 1
#define K2I_STATUS_USAGE 2 /* command line or configuration */
#define K2I_STATUS_AGAIN 4 /* of a worker that can't take over, or go on: another is to try */
#define K2I_STATUS_SHORT 5 /* there was no process or thread to be had for it: another is to try, however often */

/* Reads and checks all that can be checked before anything happens. Returns an exit status; logs what is wrong. */
int k2i_start_check(struct k2i_mount_options *options, struct k2i_mount **mount);
/* Goes to the background unless the options say foreground. 0 or -errno. */
int k2i_start_background(struct k2i_mount *mount);
/* Ring, tree, mount: all that outlives a worker. 0, -errno or K2I_STATUS_USAGE; logs what is wrong. */
int k2i_start_mount(struct k2i_mount *mount);
/* Takes back whatever was done; NULL is allowed. */
void k2i_start_undo(struct k2i_mount *mount);

#endif
