/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_COPY_OUTPUTFILE_H
#define K2I_FUSE_COPY_OUTPUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct k2i_lane_plugin;
struct k2i_mount;
struct k2i_rule_match;

/*
 * OUTPUTFILE. Outside of the mount it is a file that records are appended to, or, for a directory rule and with a
 * trailing slash, a directory of files with the names that they have below the rule's directory. Relative, or below the
 * mount point, it is a file of the mount: its own rule takes over there.
 */
struct k2i_outputfiles;
struct k2i_outputfile; /* an open file */

/*
 * Before the mount is there: makes and opens what is outside, checks what is inside. -EINVAL what the configuration says
 * can't be; others as open(2); with "FILE:LINE: ..." in message.
 */
int k2i_outputfiles_open(struct k2i_mount *mount, char *message, size_t message_room);
void k2i_outputfiles_close(struct k2i_outputfiles *outputfiles);

/* The output of the file at `path` under `match`: NULL in `*output` if it has none outside. As open(2). */
int k2i_outputfile_get(struct k2i_mount *mount, const struct k2i_rule_match *match, const char *path,
		       struct k2i_outputfile **output);
void k2i_outputfile_put(struct k2i_outputfile *output);

/* Whether it has one outside. */
bool k2i_outputfile_outside(const struct k2i_mount *mount, const struct k2i_rule_match *match);
/*
 * For a plug-in of `path`, any thread: a descriptor of its output outside, of /dev/null if it has none; as open(2). Whether
 * that is still there. And as k2i_outputfile_inside.
 */
int k2i_outputfile_lend(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path);
bool k2i_outputfile_lent_in_place(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path,
				  int fd);
int k2i_outputfile_lent_inside(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path,
			       char *inside, size_t room);
/* The path in the mount to which the records of `path` go on: its length, 0: nowhere; -ENAMETOOLONG. */
int k2i_outputfile_inside(const struct k2i_mount *mount, const struct k2i_rule_match *match, const char *path,
			  char *inside, size_t room);

/* All of it. 0 or -errno; then some of it may be there. */
int k2i_outputfile_append(struct k2i_outputfile *output, const char *data, size_t bytes);
ssize_t k2i_outputfile_read(struct k2i_outputfile *output, char *data, size_t bytes, uint64_t offset);
/* Whether any rule has an output outside. */
bool k2i_outputfiles_readable(const struct k2i_outputfiles *outputfiles);
/* -ENOENT `path` has no output outside; else its length. */
int k2i_outputfile_size(struct k2i_mount *mount, const char *path, uint64_t *bytes);

#endif
