/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_ADVANCE_H
#define K2I_FUSE_INTAKE_ADVANCE_H

#include "fuse/base/mount.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/queue.h"

/* Whether beginnings of records take more memory than they may; k2i_queue_run sees to it. */
static inline bool k2i_held_too_much(const struct k2i_mount *mount)
{
	return mount->handles->held_bytes > mount->line_limits->held_bytes_max;
}
/* Goes on with what can go on. */
void k2i_queue_run(struct k2i_mount *mount);
/* The kernel's INTERRUPT of request `unique`. false: no such request waits here. */
bool k2i_queue_interrupt(struct k2i_mount *mount, uint64_t unique);
/* Answers all that wait with `error` and forgets them. The part of it that had been accepted is lost, and counted. */
void k2i_queue_abandon(struct k2i_mount *mount, int error);
/*
 * Adds what answers `unique` then, and in front of it what is held of the file's records; nothing goes on yet.
 * `answer_bytes`: to a WRITE. -ENOMEM
 */
int k2i_queue_add_sync(struct k2i_mount *mount, struct k2i_handle *handle, uint64_t unique, size_t answer_bytes);
/*
 * Adds the end of the record that `handle` holds (K2I_QUEUED_END), or its begin (K2I_QUEUED_SO_FAR). -ENOMEM: the
 * record is held as before.
 */
int k2i_queue_add_held(struct k2i_mount *mount, struct k2i_handle *handle, enum k2i_queued_kind kind);

#endif
