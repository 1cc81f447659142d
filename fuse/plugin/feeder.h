/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_PLUGIN_FEEDER_H
#define K2I_FUSE_PLUGIN_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "fuse/base/mount.h"

struct k2i_mount;
struct k2i_report;

/*
 * PLUGIN of rules. The records of such a rule go into a ring of its own, its lane, as those for a receiver do; a thread
 * of the worker, the feeder, reads it, and its plug-ins acknowledge it: so writers wait for a plug-in as for a receiver,
 * and records outlive the worker. A rule of one file has a process from the start on, a rule of a directory one for
 * each file, which ends with the file's last writer. A process writes to OUTPUTFILE; or into a pipe, from which the
 * feeder takes what is for a file of the mount, or to be transferred, and the worker's loop writes it there.
 */
struct k2i_feeder;

/*
 * The worker's start, and after a pause: with the lanes that are there now, if any. `wake_fd` wakes the loop. -ENOMEM; as
 * eventfd(2).
 */
int k2i_feeder_start(struct k2i_mount *mount, int wake_fd);
/* The mount's settings can change now; plug-ins go on with what they have. */
void k2i_feeder_pause(struct k2i_mount *mount);
/* Nobody writes to a lane any more, and all in it is read: whether its plug-ins have ended, and left it. */
bool k2i_feeder_leave(const struct k2i_mount *mount, const struct k2i_mount_lane *lane);
/* Processes that are there still get the end of their input, and SIGTERM and SIGKILL soon after. */
void k2i_feeder_stop(struct k2i_mount *mount);

/* The loop: takes what plug-ins have written. */
void k2i_feeder_outputs_take(struct k2i_mount *mount);
/* The mount ends: whether plug-ins have read all, ended, and all that they wrote is taken. */
bool k2i_feeder_drained(struct k2i_mount *mount);

void k2i_feeder_counts(const struct k2i_mount *mount, struct k2i_mount_counts *counts);
void k2i_feeder_show(const struct k2i_mount *mount, struct k2i_report *report);

#endif
