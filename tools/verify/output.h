/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_OUTPUT_H
#define K2I_TOOLS_VERIFY_OUTPUT_H

#include <k2hft/sender.h>

#include "tools/base/numbers.h"
#include "config/sender.h"
#include "tools/verify/verify.h"

/* Where made records go: files, or streams of a sender. */

struct verify_sender {
	struct k2i_sender_config config; /* with a configuration file */
	struct k2hft_sender *sender;
	char receiver[RECEIVER_ROOM];
};

/* STATUS_OK, or a status with its message. */
int verify_sender_open(const struct verify_options *options, struct verify_sender *sender);
/* Waits until all is acknowledged, or --timeout is over, or `*stop` asks. A status with its message. */
int verify_sender_close(const struct verify_options *options, struct verify_sender *sender, bool (*stop)(void));

struct verify_output {
	const struct verify_options *options;
	char *name; /* of the file or the stream; the caller frees it after close */
	int descriptor;
	struct k2hft_writer *writer;
};

/* `sender` is NULL if it is to be a file. 0 or -errno; then, too, verify_output_close is to be called. */
int verify_output_open(struct verify_output *output, const struct verify_options *options, struct k2hft_sender *sender,
		       uint32_t producer);
/* Writes once. `*taken` bytes are written, also if there is an error. 0 or -errno. */
int verify_output_put(struct verify_output *output, const char *bytes, size_t count, size_t *taken);
/* 0 or -errno. */
int verify_output_close(struct verify_output *output);

#endif
