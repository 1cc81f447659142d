/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/sinks.h"

#include "receiver/sink/exec/exec_sink.h"
#include "receiver/sink/file/file_sink.h"

/* The list of all sinks, and the only place that knows them. Files are written by one or the other. */
static int output_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	return options->settings->plugin ? k2i_exec_sink_open(options, sink) : k2i_file_sink_open(options, sink);
}

static int (*const openers[])(const struct k2i_sink_options *options, struct k2i_sink **sink) = {
	output_open,
};

_Static_assert(sizeof(openers) / sizeof(openers[0]) <= K2I_SINKS_MAX, "each has a place in a stream");

int k2i_sinks_make(const struct k2i_settings *settings)
{
	return k2i_file_sink_base_make(settings);
}

int k2i_sinks_open(const struct k2i_sink_options *options, struct k2i_sinks *sinks)
{
	struct k2i_sink *sink;
	size_t i;
	int error = 0;

	for (i = 0; i < sizeof(openers) / sizeof(openers[0]) && !error; i++) {
		error = openers[i](options, &sink);
		if (error)
			break;
		sink->listener = options->listener;
		sink->number = sinks->count;
		sinks->list[sinks->count++] = sink;
	}
	return error;
}
