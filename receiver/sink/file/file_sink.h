/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_FILE_SINK_H
#define K2I_RECEIVER_SINK_FILE_FILE_SINK_H

#include "receiver/sink/file/output.h"
#include "receiver/sink/sink.h"

/* Records go to files below FILE_BASEDIR: of each stream its own, or all to one (FILE_UNIFY). */

/* Opens the sink as the settings say. The error was logged. */
int k2i_file_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink);
/* The same with outputs that are open, which it then owns. `format` and `unify_file` must outlive it. -ENOMEM */
int k2i_file_sink_create(struct k2i_outputs *outputs, const struct k2i_format *format, const char *unify_file,
			 struct k2i_sink **sink);

/* Makes FILE_BASEDIR, where the ledger can be, too. The error was logged. */
int k2i_file_sink_base_make(const struct k2i_settings *settings);

#endif
