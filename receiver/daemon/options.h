/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_OPTIONS_H
#define K2I_RECEIVER_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "base/log.h"

/* The command line of k2hftfusesvr(8), and the environment. */
struct k2i_options {
	const char *config;   /* file, or JSON */
	bool config_given;    /* by the command line */
	const char *listen;   /* ADDRESS:PORT; NULL: as the configuration says */
	const char *log_file; /* NULL: standard error */
	enum k2hft_log_level level;
	bool help, version;
};

/* Reads the command line, and the environment where that is silent. 0, or -EINVAL with one line on standard error. */
int k2i_options_parse(int argc, char **argv, struct k2i_options *options);

/* Prints the text of --help. */
void k2i_options_usage(void);

#endif
