/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_TAKEOVER_H
#define K2I_FUSE_KEEPER_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct k2i_mount;
struct k2i_mount_lane;
struct k2i_mount_options;

/*
 * A mount outlives its keeper where systemd has copies of the keeper's descriptors: of the kernel's connection, of the
 * journal's memory and of the rings. The keeper that systemd starts next gets them, and goes on as a worker does after
 * another one has died: requests that have no answer come again (FUSE_NOTIFY_RESEND). Until then whoever uses the mount waits.
 *
 * The memory of the journal is taken over as it is, so the program must know it as the one before did: K2I_LAYOUT counts its
 * changes. Everything in it that points elsewhere is a process's own, and each process sets it anew.
 */

/* To be raised when the meaning of what is in the journal's memory changes; the sizes of its structs count by themselves. */
#define K2I_LAYOUT 2u
uint64_t k2i_takeover_layout(void);

/* The mount that a keeper has left for this process to serve; NULL: there is none, or another call has had it. */
struct k2i_mount *k2i_takeover_find(struct k2i_mount_options *options);
/* Whether there was one: systemd has descriptors of its rings, and their locks, for a moment after it was given up. */
bool k2i_takeover_given(void);
/*
 * With the configuration read: whether it is the one that the mount goes by. `false`: that is logged, and the mount is taken
 * away from its place; it is to be undone, and another one made.
 */
bool k2i_takeover_fits(struct k2i_mount *mount);
/* Takes it away as well, for this reason. */
void k2i_takeover_refuse(struct k2i_mount *mount, const char *why);
/*
 * Whether a mount that was found still waits for a keeper, since this one has not begun to serve it: the next one can do
 * better. NULL: this process has not looked for one, and won't.
 */
bool k2i_takeover_waits(const struct k2i_mount *mount);
/* Numbers for the configuration that the mount goes by, whether or not that is a file, and for its options of libfuse. */
uint64_t k2i_takeover_sign(const struct k2i_mount *mount);
uint64_t k2i_takeover_options(const struct k2i_mount_options *options);

/*
 * Has systemd keep what the mount has now, and nothing else. 0, -ENOTSUP: there is no systemd, or nobody could take the mount
 * over; -EAGAIN, before the kernel has said what it can, or another error: to be called again.
 */
int k2i_takeover_offer(const struct k2i_mount *mount);
/* The same for a ring that is new, if systemd has the mount. */
void k2i_takeover_offer_ring(const struct k2i_mount_lane *lane);
/* Has systemd keep nothing: the mount ends with this keeper. */
void k2i_takeover_withdraw(void);

/*
 * For a unit's ExecStop=, as the program that is to be started next: has the keeper leave its mount, if this program can take
 * it over. Waits until the keeper has gone. Exit status; on failure the keeper goes on, and a line on standard error says why.
 */
int k2i_takeover_ask(pid_t keeper);

#endif
