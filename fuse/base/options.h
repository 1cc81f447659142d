/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_OPTIONS_H
#define K2I_FUSE_BASE_OPTIONS_H

#include <stdbool.h>

#include "fuse/base/fuse_api.h"
#include "base/log.h"

#define K2I_OPTION_ROOM 64u

/* The command line of k2hftfuse(8): its own options, and what libfuse takes. */
struct k2i_mount_options {
	struct fuse_args args; /* what libfuse takes */
	char *source;          /* first word, if there are two */
	char *mount_point;
	char *config, *json; /* one of them is given; then config */
	char *log_level_text;
	char *umask_text, *uid_text, *gid_text;
	unsigned umask_bits, uid_number, gid_number;
	bool umask_set, uid_set, gid_set;
	int foreground, debug, help, version, allow_other, allow_root;
	int without_effect; /* options of K2HFTFUSE that have nothing to do here */
	char *ignored_text;
	char nearest[K2I_OPTION_ROOM]; /* the option that an unknown one may have been; "": none */
	unsigned leave;                /* the keeper that is to leave its mount, see k2i_takeover_ask; 0: none */
	enum k2hft_log_level level;
};

/* Parses a command line. 0, or -EINVAL with one line on standard error. */
int k2i_mount_options_parse(int argc, char **argv, struct k2i_mount_options *options);
void k2i_mount_options_free(struct k2i_mount_options *options);
void k2i_mount_options_help(void);

#endif
